import { fileURLToPath } from "node:url";
import type { AttackCase, AttackPart } from "../cases.ts";
import { send, type ClientReply } from "../client.ts";
import { findEndFaults, findErrorFaults, findReplyFaults } from "../judge-reply.ts";
import { startHttpMcpServer } from "../mcp/servers.ts";
import { findInternals, createSecret, SecretScanner } from "../secrets.ts";
import type { Target } from "../target.ts";
import { wirePaths, wires } from "../wires.ts";
import { RequestGenerator, createMarker, type GeneratedRequest } from "./generator.ts";
import { KnownValues } from "./known-values.ts";
import { MarkerUpstream } from "./marker-upstream.ts";
import { parseApi, type Api } from "./operations.ts";

const mcpProgram = fileURLToPath(new URL("../mcp/servers.ts", import.meta.url));
const concurrency = 16;

export interface GeneratedOptions {
  token: string;
  seed: number;
  minutes: number;
  /** Undefined: as many as fit into the time. */
  requests: number | undefined;
  /** Only this request. */
  number: number | undefined;
  /** Only requests for this route, such as `/v1/messages`. Undefined: for every route. */
  route: string | undefined;
}

/** Creates requests for every route, which several clients send at the same time. */
export async function createRequestsPart(options: GeneratedOptions): Promise<AttackPart> {
  const { token, seed, minutes, requests = Number.POSITIVE_INFINITY, number, route } = options;
  const key = createSecret("key of the marker upstream");
  const clients = {
    main: token,
    second: createSecret("second client"),
    third: createSecret("third client"),
  };
  const upstream = await MarkerUpstream.start(Object.keys(clients));
  const mcp = await startHttpMcpServer([{ name: "usual", answer: () => undefined }]);
  const known = new KnownValues();
  const secrets = new SecretScanner({ ...clients, "the key of the upstream": key });
  let generator: RequestGenerator | undefined;
  const statusCounts = new Map<number, number>();
  const createCase = (index: number): AttackCase => ({
    name: `generated request ${index}`,
    async run(target) {
      if (generator === undefined) return ["the part is not prepared"];
      const request = generator.request(index);
      const reply = await send(target.url, request);
      known.record(reply.text);
      for (const [, signature = ""] of reply.text.matchAll(/"signature":"(\w[^"]{20,})"/g))
        known.add(`signature of ${request.client}`, signature);
      statusCounts.set(reply.status, (statusCounts.get(reply.status) ?? 0) + 1);
      return [
        ...findRequestFaults(request, reply, clients),
        ...secrets
          .findLeaks(`${JSON.stringify(reply.headers)}${reply.text}`)
          .filter((leak) => !leak.startsWith(request.client)),
        ...upstream.takeFaults(),
      ].map((fault) => `${fault}\n${describe(request)}`);
    },
  });
  return {
    name: "generated requests",
    toml: formatToml(upstream.url, mcp.url(0), key, clients),
    cases: number === undefined ? [] : [createCase(number)],
    concurrency,
    secrets,
    async prepare(target) {
      const api = parseApi(await (await fetch(`${target.url}/openapi.json`)).json());
      await addKnownValues(target, token, known);
      generator = new RequestGenerator({
        seed,
        api,
        known,
        models,
        agents,
        toolGroups,
        clients,
        route,
      });
    },
    *generate() {
      if (number !== undefined) return;
      const deadline = Date.now() + minutes * 60_000;
      for (let index = 0; index < requests && Date.now() < deadline; index += 1)
        yield createCase(index);
    },
    async close() {
      const counts = [...statusCounts].toSorted(([first], [second]) => first - second);
      if (counts.length > 0)
        console.log(
          `  generated requests by status: ${counts.map(([status, count]) => `${status || "none"}: ${count}`).join(", ")}`,
        );
      await upstream.close();
      await mcp.close();
    },
  };
}

const models = ["chat/m", "responses/m", "messages/m", "deepseek/m", "anthropic/m", "short"];
const agents = ["helper", "chief"];
const toolGroups = ["files", "time", "web", "agents", "remote", "local"];

function formatToml(
  url: string,
  mcpUrl: string,
  key: string,
  clients: Record<string, string>,
): string {
  const upstreams = [
    ["chat", "chat", ""],
    ["responses", "responses", ""],
    ["messages", "messages", ""],
    ["deepseek", "chat", 'profile = "deepseek"\n'],
    ["anthropic", "messages", 'profile = "anthropic"\n'],
  ].map(
    ([name, speaks, extraLines]) =>
      `[upstreams.${name}]\nbase_url = "${url}/v1"\nspeaks = "${speaks}"\napi_key = "${key}"\nmodels = ["m"]\n${extraLines}`,
  );
  const clientTables = Object.entries(clients)
    .slice(1)
    .map(([name, token]) => `[clients.${name}]\ntoken = "${token}"\n`);
  return `${clientTables.join("")}${upstreams.join("")}
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

/** Creates chats, messages, tasks and files, so that later requests can use their ids. */
async function addKnownValues(target: Target, token: string, known: KnownValues): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const post = async (path: string, body: unknown): Promise<void> => {
    const { text } = await send(target.url, { path, headers, body: JSON.stringify(body) });
    known.record(text);
  };
  for (const title of ["one", "two", "three"]) await post("/api/chats", { title });
  for (const position of [0, 0.4, 0.9]) {
    const chat = String(known.pick("chat_id", position));
    await post(`/api/chats/${chat}/send`, { text: "Hello, a@b.example" });
    await post(`/api/chats/${chat}/send`, { text: "And more" });
  }
  for (const agent of agents) await post("/api/tasks", { agent, input: "{}" });
  const blob = await send(target.url, {
    path: "/api/blobs?filename=a.txt",
    headers: { ...headers, "content-type": "text/plain" },
    body: "a file",
  });
  known.record(blob.text);
}

/** Returns what is wrong with the reply to a request that may be invalid. */
function findRequestFaults(
  request: GeneratedRequest,
  reply: ClientReply,
  clients: Record<string, string>,
): string[] {
  if (reply.reason.startsWith("not sent")) return [];
  const faults = findEndFaults(reply);
  if (faults.length > 0) return faults;
  const { status, text } = reply;
  const otherClients = Object.keys(clients).filter((name) => name !== request.client);
  const foreignMarkers = request.path.startsWith("/v1/")
    ? otherClients.filter((name) => text.includes(createMarker(name)))
    : [];
  faults.push(
    ...foreignMarkers.map((name) => `text of the client ${name} in a reply to ${request.client}`),
  );
  if (status >= 500) return [...faults, `status ${status}: ${text.slice(0, 500)}`];
  const [path = ""] = request.path.split("?");
  const wire = wires.find((candidate) => wirePaths[candidate] === path);
  if (status === 200 && wire !== undefined && request.method === "POST") {
    const stream = reply.headers["content-type"]?.startsWith("text/event-stream") === true;
    return [...faults, ...findReplyFaults(reply, { wire, stream, upstream: "responses" })];
  }
  if (status < 400) return faults;
  if (request.method === "HEAD" || (status === 416 && text === "")) return faults;
  const isMessages =
    request.method === "POST" && (wire === "messages" || path === "/v1/messages/count_tokens");
  return [
    ...faults,
    ...findErrorFaults(reply, isMessages ? "messages" : "responses"),
    ...findInternals(text),
  ];
}

function describe({ method, path, headers, body, client }: GeneratedRequest): string {
  const bodyText = typeof body === "string" ? body : Buffer.from(body ?? "").toString("latin1");
  return `${client}: ${method} ${path.slice(0, 300)} ${JSON.stringify({ ...headers, authorization: undefined }).slice(0, 300)} ${bodyText.slice(0, 500)}`;
}

/** Returns the routes of generated requests, for the test that they cover all routes. Needs no gateway. */
export function collectRoutes(api: Api, seed: number, count: number): Set<string> {
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
  return new Set(Array.from({ length: count }, (_, index) => generator.request(index).route));
}
