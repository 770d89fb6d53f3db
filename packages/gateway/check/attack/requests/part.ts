import { fileURLToPath } from "node:url";
import type { AttackCase, Part } from "../cases.ts";
import { send, type ClientReply } from "../client.ts";
import { endFaults, errorFaults } from "../judge-reply.ts";
import { mcpOverHttp } from "../mcp/servers.ts";
import { insidesIn, secretFor, SecretWatch } from "../secrets.ts";
import type { Target } from "../target.ts";
import { RequestGenerator, markerOf, type GeneratedRequest } from "./generator.ts";
import { KnownValues } from "./known-values.ts";
import { MarkerUpstream } from "./marker-upstream.ts";
import { apiFrom, type Api } from "./operations.ts";

const mcpProgram = fileURLToPath(new URL("../mcp/servers.ts", import.meta.url));
const atOnce = 16;

export interface GeneratedOptions {
  token: string;
  seed: number;
  minutes: number;
  /** Undefined: as many as fit into the time. */
  requests: number | undefined;
  /** Only this request. */
  number: number | undefined;
}

/** Requests for every route, by several clients at the same time. */
export async function requestsPart(options: GeneratedOptions): Promise<Part> {
  const { token, seed, minutes, requests = Number.POSITIVE_INFINITY, number } = options;
  const key = secretFor("key of the marker upstream");
  const clients = {
    main: token,
    second: secretFor("second client"),
    third: secretFor("third client"),
  };
  const upstream = await MarkerUpstream.start(Object.keys(clients));
  const mcp = await mcpOverHttp([{ name: "usual", answer: () => undefined }]);
  const known = new KnownValues();
  const secrets = new SecretWatch({ ...clients, "the key of the upstream": key });
  let generator: RequestGenerator | undefined;
  const caseOf = (at: number): AttackCase => ({
    name: `generated request ${at}`,
    async run(target) {
      if (generator === undefined) return ["the part is not prepared"];
      const request = generator.request(at);
      const reply = await send(target.url, request);
      known.read(reply.text);
      return [
        ...requestFaults(request, reply, clients),
        ...secrets
          .leaks(`${JSON.stringify(reply.headers)}${reply.text}`)
          .filter((leak) => !leak.startsWith(request.client)),
        ...upstream.takeFaults(),
      ].map((fault) => `${fault}\n${describe(request)}`);
    },
  });
  return {
    name: "generated requests",
    toml: toml(upstream.url, mcp.url(0), key, clients),
    cases: number === undefined ? [] : [caseOf(number)],
    atOnce,
    secrets,
    async prepare(target) {
      const api = apiFrom(await (await fetch(`${target.url}/openapi.json`)).json());
      await addKnownValues(target, token, known);
      generator = new RequestGenerator({ seed, api, known, models, agents, toolGroups, clients });
    },
    *generate() {
      if (number !== undefined) return;
      const until = Date.now() + minutes * 60_000;
      for (let at = 0; at < requests && Date.now() < until; at += 1) yield caseOf(at);
    },
    async close() {
      await upstream.close();
      await mcp.close();
    },
  };
}

const models = ["chat/m", "responses/m", "deepseek/m", "short"];
const agents = ["helper", "chief"];
const toolGroups = ["files", "time", "web", "agents", "remote", "local"];

function toml(url: string, mcpUrl: string, key: string, clients: Record<string, string>): string {
  const upstreams = [
    ["chat", "chat", ""],
    ["responses", "responses", ""],
    ["deepseek", "chat", 'profile = "deepseek"\n'],
  ].map(
    ([name, speaks, more]) =>
      `[upstreams.${name}]\nbase_url = "${url}/v1"\nspeaks = "${speaks}"\napi_key = "${key}"\nmodels = ["m"]\n${more}`,
  );
  const named = Object.entries(clients)
    .slice(1)
    .map(([name, token]) => `[clients.${name}]\ntoken = "${token}"\n`);
  return `${named.join("")}${upstreams.join("")}
[models]
short = "chat/m"

[chats]
model = "short"
titles = false
privacy = ["email", "key"]

[agents.helper]
model = "short"
instructions = "You help."
tool_groups = ["time", "remote"]

[agents.chief]
model = "short"
instructions = "You lead."
tool_groups = ["files", "agents", "local"]
agents = ["helper"]

[tools.files]
folder = "work"

[mcp.remote]
url = "${mcpUrl}"

[mcp.local]
command = ${JSON.stringify(process.execPath)}
args = ${JSON.stringify(["--conditions=@deltawire/source", mcpProgram, "usual"])}
`;
}

/** Chats, messages, tasks and files that later requests can name. */
async function addKnownValues(target: Target, token: string, known: KnownValues): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const post = async (path: string, body: unknown): Promise<void> => {
    const { text } = await send(target.url, { path, headers, body: JSON.stringify(body) });
    known.read(text);
  };
  for (const title of ["one", "two", "three"]) await post("/api/chats", { title });
  for (const at of [0, 0.4, 0.9]) {
    const chat = String(known.pick("chat_id", at));
    await post(`/api/chats/${chat}/send`, { text: "Hello, a@b.example" });
    await post(`/api/chats/${chat}/send`, { text: "And more" });
  }
  for (const agent of agents) await post("/api/tasks", { agent, input: "{}" });
  const blob = await send(target.url, {
    path: "/api/blobs?filename=a.txt",
    headers: { ...headers, "content-type": "text/plain" },
    body: "a file",
  });
  known.read(blob.text);
}

/** What is wrong with the reply to a request that may itself be wrong. */
function requestFaults(
  request: GeneratedRequest,
  reply: ClientReply,
  clients: Record<string, string>,
): string[] {
  if (reply.reason.startsWith("not sent")) return [];
  const faults = endFaults(reply);
  if (faults.length > 0) return faults;
  const { status, text } = reply;
  const others = Object.keys(clients).filter((name) => name !== request.client);
  const crossed = request.path.startsWith("/v1/")
    ? others.filter((name) => text.includes(markerOf(name)))
    : [];
  faults.push(
    ...crossed.map((name) => `words of the client ${name} in a reply to ${request.client}`),
  );
  if (status >= 500) return [...faults, `status ${status}: ${text.slice(0, 500)}`];
  if (status < 400) return faults;
  if (request.method === "HEAD" || (status === 416 && text === "")) return faults;
  return [...faults, ...errorFaults(reply), ...insidesIn(text)];
}

function describe({ method, path, headers, body, client }: GeneratedRequest): string {
  const sent = typeof body === "string" ? body : Buffer.from(body ?? "").toString("latin1");
  return `${client}: ${method} ${path.slice(0, 300)} ${JSON.stringify({ ...headers, authorization: undefined }).slice(0, 300)} ${sent.slice(0, 500)}`;
}

/** The requests of a seed without a gateway, for the test that every route is among them. */
export function routesOf(api: Api, seed: number, count: number): Set<string> {
  const clients = { main: "token" };
  const generator = new RequestGenerator({
    seed,
    api,
    known: new KnownValues(),
    models,
    agents,
    toolGroups,
    clients,
  });
  return new Set(Array.from({ length: count }, (_, at) => generator.request(at).route));
}
