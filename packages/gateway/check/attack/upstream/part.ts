import type { AttackCase, Part } from "../cases.ts";
import { send, type ClientReply } from "../client.ts";
import { replyFaults, type Wire } from "../judge-reply.ts";
import { secretFor, SecretWatch } from "../secrets.ts";
import type { Target } from "../target.ts";
import { chatModes } from "./chat-modes.ts";
import { errorModes } from "./error-modes.ts";
import { eventModes } from "./event-modes.ts";
import { generatedModes } from "./generated-modes.ts";
import { goodWord, playGood } from "./good-replies.ts";
import { hostileUpstream, type UpstreamMode } from "./hostile-upstream.ts";
import { httpModes } from "./http-modes.ts";
import { responsesModes } from "./responses-modes.ts";

const wires: readonly Wire[] = ["chat", "responses"];
const forms = ["streamed", "complete"] as const;
/** A circuit opens after five failures in a row; a good reply in between closes it. */
const hostileInARow = 3;

export interface UpstreamOptions {
  /** How many modes are generated from the seed. */
  generated: number;
  /** True: of a mode with many variants only some are played. */
  quick: boolean;
  isWanted: (name: string) => boolean;
}

/** How many variants of a mode are played in the short form. */
const fewVariants = 6;

/** Every mode, on an upstream of its own, for both client wires and both forms of replies. */
export async function upstreamPart(
  token: string,
  seed: number,
  { generated, quick, isWanted }: UpstreamOptions,
): Promise<Part> {
  const key = secretFor("upstream");
  const modes = [
    ...httpModes,
    ...eventModes,
    ...chatModes,
    ...responsesModes,
    ...errorModes,
    ...generatedModes(seed, generated),
  ].filter(({ name }) => isWanted(name));
  const upstream = await hostileUpstream((path, body) => {
    const mode = modes[Number(/^\/m(\d+)\//.exec(path)?.[1])];
    return mode === undefined || body["model"] === "good" ? playGood : mode.play;
  });
  const secrets = new SecretWatch({ "the key of the upstream": key, "the token": token });
  return {
    name: "hostile upstreams",
    toml: modes
      .flatMap((mode, at) =>
        (mode.wires ?? wires).map((wire) => upstreamToml(wire, at, upstream.url, key)),
      )
      .join(""),
    cases: modes.map((mode, at) => caseOf(mode, at, variantsOf(mode, seed, quick), token, secrets)),
    atOnce: 6,
    secrets,
    close: () => upstream.close(),
  };
}

function upstreamToml(wire: Wire, at: number, url: string, key: string): string {
  return `[upstreams.${wire}${at}]
base_url = "${url}/m${at}/v1"
speaks = "${wire}"
api_key = "${key}"
models = ["good"]
connect_timeout_seconds = 5
idle_timeout_seconds = 1
retries = 0
`;
}

function variantsOf({ variants = 1 }: UpstreamMode, seed: number, quick: boolean): number[] {
  const all = Array.from({ length: variants }, (_, variant) => variant);
  const step = quick ? Math.ceil(variants / fewVariants) : 1;
  return all.filter((variant) => variant % step === seed % step);
}

function caseOf(
  mode: UpstreamMode,
  at: number,
  variants: readonly number[],
  token: string,
  secrets: SecretWatch,
): AttackCase {
  const requests = [...requestsOf(mode, at, variants)];
  return {
    name: mode.name,
    requests: Math.ceil(requests.length * (1 + 1 / hostileInARow)),
    ...(mode.alone === true ? { alone: true } : {}),
    async run(target) {
      const faults: string[] = [];
      for (const [number, request] of requests.entries()) {
        const reply = await ask(target, request, token, mode.leaveAfterMs);
        const found = [
          ...replyFaults(reply, request),
          ...secrets.leaks(`${JSON.stringify(reply.headers)}${reply.text}`),
        ];
        faults.push(...found.map((fault) => `${describe(request, mode)}: ${fault}`));
        const isLast = number === requests.length - 1;
        if (isLast || number % hostileInARow === hostileInARow - 1)
          faults.push(...(await goodFaults(target, request, token)));
        // One hang is enough: the others would take as long.
        if (faults.length > 10 || reply.end === "timeout") break;
      }
      return faults;
    },
  };
}

interface Request {
  wire: Wire;
  stream: boolean;
  upstream: Wire;
  model: string;
  variant: number;
}

function* requestsOf(
  mode: UpstreamMode,
  at: number,
  variants: readonly number[],
): Generator<Request> {
  for (const variant of variants)
    for (const upstream of mode.wires ?? wires)
      for (const form of mode.forms ?? forms)
        for (const wire of wires)
          yield {
            wire,
            upstream,
            variant,
            stream: form === "streamed",
            model: `${upstream}${at}/v${variant}`,
          };
}

function describe({ wire, stream, upstream, variant }: Request, mode: UpstreamMode): string {
  const which = mode.variants === undefined ? "" : `, variant ${variant}`;
  return `${wire} client on a ${upstream} upstream, ${stream ? "streamed" : "complete"}${which}`;
}

async function ask(
  target: Target,
  { wire, stream, model }: Request,
  token: string,
  leaveAfterMs?: number,
): Promise<ClientReply> {
  return send(target.url, {
    path: wire === "chat" ? "/v1/chat/completions" : "/v1/responses",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: JSON.stringify({ model, stream, ...(wire === "chat" ? chatBody : responsesBody) }),
    ...(leaveAfterMs === undefined ? {} : { leaveAfterMs }),
  });
}

/** The same upstream must still be of use afterwards. */
async function goodFaults(target: Target, request: Request, token: string): Promise<string[]> {
  const model = request.model.replace(/\/.*/, "/good");
  let said = "";
  // A machine that is busy may let a good reply be late once.
  for (let tries = 0; tries < 3; tries += 1) {
    const { status, text } = await ask(target, { ...request, model }, token);
    if (status === 200 && text.includes(goodWord)) return [];
    said = `${status} ${text.slice(0, 300)}`;
  }
  return [`a good request afterwards gets ${said}`];
}

const parameters = { type: "object", properties: { a: { type: "string" } } };
const chatBody = {
  messages: [{ role: "user", content: "Hello" }],
  tools: [{ type: "function", function: { name: "look", parameters } }],
};
const responsesBody = {
  input: "Hello",
  store: false,
  tools: [{ type: "function", name: "look", parameters, strict: false }],
};
