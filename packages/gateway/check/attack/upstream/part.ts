import type { AttackCase, AttackPart } from "../cases.ts";
import { send, type ClientReply } from "../client.ts";
import { findReplyFaults } from "../judge-reply.ts";
import { createSecret, SecretScanner } from "../secrets.ts";
import type { Target } from "../target.ts";
import { helloBodies, lookTools, wirePaths, wires, type Wire } from "../wires.ts";
import { chatModes } from "./chat-modes.ts";
import { errorModes } from "./error-modes.ts";
import { eventModes } from "./event-modes.ts";
import { generatedModes } from "./generated-modes.ts";
import { goodText, sendGoodReply } from "./good-replies.ts";
import { startHostileUpstream, type UpstreamMode } from "./hostile-upstream.ts";
import { httpModes } from "./http-modes.ts";
import { messagesModes } from "./messages-modes.ts";
import { responsesModes } from "./responses-modes.ts";

const forms = ["streamed", "complete"] as const;
/** A circuit opens after five failures in a row; a good reply in between closes it. */
const hostileInARow = 3;

export interface UpstreamOptions {
  /** Number of modes to generate from the seed. */
  generated: number;
  /** True: only some variants of a mode are played. */
  quick: boolean;
  isSelected: (name: string) => boolean;
}

/** Number of variants per mode in the short form. */
const fewVariants = 6;

/** Creates an attack for every mode, each with a separate upstream, for clients of every API, streaming or not. */
export async function createUpstreamPart(
  token: string,
  seed: number,
  { generated, quick, isSelected }: UpstreamOptions,
): Promise<AttackPart> {
  const key = createSecret("upstream");
  const modes = [
    ...httpModes,
    ...eventModes,
    ...chatModes,
    ...responsesModes,
    ...messagesModes,
    ...errorModes,
    ...generatedModes(seed, generated),
  ].filter(({ name }) => isSelected(name));
  const upstream = await startHostileUpstream((path, body) => {
    const mode = modes[Number(/^\/m(\d+)\//.exec(path)?.[1])];
    return mode === undefined || body["model"] === "good" ? sendGoodReply : mode.play;
  });
  const secrets = new SecretScanner({ "the key of the upstream": key, "the token": token });
  return {
    name: "hostile upstreams",
    toml: modes
      .flatMap((mode, index) =>
        (mode.wires ?? wires).map((wire) => formatUpstreamToml(wire, index, upstream.url, key)),
      )
      .join(""),
    cases: modes.map((mode, index) =>
      createCase(mode, index, pickVariants(mode, seed, quick), token, secrets),
    ),
    concurrency: 6,
    secrets,
    close: () => upstream.close(),
  };
}

function formatUpstreamToml(wire: Wire, index: number, url: string, key: string): string {
  return `[upstreams.${wire}${index}]
base_url = "${url}/m${index}/v1"
speaks = "${wire}"
api_key = "${key}"
models = ["good"]
connect_timeout_seconds = 5
idle_timeout_seconds = 1
retries = 0
`;
}

function pickVariants({ variants = 1 }: UpstreamMode, seed: number, quick: boolean): number[] {
  const variantNumbers = Array.from({ length: variants }, (_, variant) => variant);
  const step = quick ? Math.ceil(variants / fewVariants) : 1;
  return variantNumbers.filter((variant) => variant % step === seed % step);
}

function createCase(
  mode: UpstreamMode,
  index: number,
  variants: readonly number[],
  token: string,
  secrets: SecretScanner,
): AttackCase {
  const requests = [...listRequests(mode, index, variants)];
  return {
    name: mode.name,
    requests: Math.ceil(requests.length * (1 + 1 / hostileInARow)),
    ...(mode.alone === true ? { alone: true } : {}),
    async run(target) {
      const faults: string[] = [];
      for (const [number, request] of requests.entries()) {
        const reply = await sendRequest(target, request, token, mode.leaveAfterMs);
        const requestFaults = [
          ...findReplyFaults(reply, request),
          ...secrets.findLeaks(`${JSON.stringify(reply.headers)}${reply.text}`),
        ];
        faults.push(...requestFaults.map((fault) => `${describe(request, mode)}: ${fault}`));
        const isLast = number === requests.length - 1;
        if (isLast || number % hostileInARow === hostileInARow - 1)
          faults.push(...(await findFaultsAfterwards(target, request, token)));
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

function* listRequests(
  mode: UpstreamMode,
  index: number,
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
            model: `${upstream}${index}/v${variant}`,
          };
}

function describe({ wire, stream, upstream, variant }: Request, mode: UpstreamMode): string {
  const variantText = mode.variants === undefined ? "" : `, variant ${variant}`;
  return `${wire} client on a ${upstream} upstream, ${stream ? "streamed" : "complete"}${variantText}`;
}

async function sendRequest(
  target: Target,
  { wire, stream, model }: Request,
  token: string,
  leaveAfterMs?: number,
): Promise<ClientReply> {
  return send(target.url, {
    path: wirePaths[wire],
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: JSON.stringify({
      model,
      stream,
      ...helloBodies[wire],
      tools: [lookTools[wire]],
      ...(wire === "responses" ? { store: false } : {}),
    }),
    ...(leaveAfterMs === undefined ? {} : { leaveAfterMs }),
  });
}

/** Checks that a valid request to the same upstream still works afterwards. */
async function findFaultsAfterwards(
  target: Target,
  request: Request,
  token: string,
): Promise<string[]> {
  const model = request.model.replace(/\/.*/, "/good");
  let actualReply = "";
  // On a busy machine a good reply may be late once.
  for (let tries = 0; tries < 3; tries += 1) {
    const { status, text } = await sendRequest(target, { ...request, model }, token);
    if (status === 200 && text.includes(goodText)) return [];
    actualReply = `${status} ${text.slice(0, 300)}`;
  }
  return [`a valid request afterwards received ${actualReply}`];
}
