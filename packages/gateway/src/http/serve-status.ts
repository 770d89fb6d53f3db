import type { Config } from "../config/config.ts";
import type { ModelDiscovery } from "../models/discovery.ts";
import { modelList } from "../models/list.ts";
import { modelsOf } from "../models/resolve.ts";
import type { Relay } from "../relay/relay.ts";
import { sendJson, type Call } from "./call.ts";
import { homePage } from "./home-page.ts";
import { openApi } from "./openapi.ts";
import { Problem } from "./problem.ts";

export interface StatusServer {
  config: Config;
  relay: Relay;
  discovery: ModelDiscovery;
  version: string;
  url: () => string;
  isDraining: () => boolean;
}

/** How long a list waits for upstreams that have never answered; Codex asks for it while it starts. */
const firstListMs = 1500;

/** `?model=` names one that nobody listed, so that Codex finds it in its catalogue all the same. */
export async function serveModels(call: Call, server: StatusServer): Promise<void> {
  const asked = call.url.searchParams.get("model") ?? undefined;
  sendJson(call.response, 200, await currentList(server, asked));
}

export async function serveModel({ response, rest }: Call, server: StatusServer): Promise<void> {
  const { data } = await currentList(server);
  const found = data.find(({ id }) => id === rest);
  if (found === undefined)
    throw new Problem("model_not_found", `there is no model "${rest}"; GET /v1/models lists all`, {
      param: "model",
    });
  sendJson(response, 200, found);
}

export function serveUpstreams({ response }: Call, server: StatusServer): void {
  const discovered = server.discovery.snapshot();
  const upstreams = [...server.relay.upstreams.values()].map(({ config, circuit }) => ({
    name: config.name,
    base_url: config.baseUrl,
    speaks: config.speaks,
    profile: config.profile.name,
    has_key: config.apiKey !== undefined,
    circuit: circuit.state,
    models: [...modelsOf(config, discovered).keys()],
  }));
  sendJson(response, 200, { upstreams });
}

export function serveLessons({ response }: Call, { relay }: StatusServer): void {
  sendJson(response, 200, { lessons: relay.lessons.list() });
}

export function forgetLessons({ response, url }: Call, { relay }: StatusServer): void {
  const upstream = url.searchParams.get("upstream") ?? undefined;
  const model = url.searchParams.get("model") ?? undefined;
  if (upstream !== undefined && !relay.upstreams.has(upstream))
    throw new Problem("not_found", `there is no upstream "${upstream}"`, { param: "upstream" });
  relay.lessons.forget(upstream, model);
  sendJson(response, 200, { lessons: relay.lessons.list() });
}

export function serveHealth({ response }: Call, { version }: StatusServer): void {
  sendJson(response, 200, { status: "ok", version });
}

export function serveReady({ response }: Call, server: StatusServer): void {
  const draining = server.isDraining();
  sendJson(response, draining ? 503 : 200, { status: draining ? "shutting down" : "ready" });
}

export function serveOpenApi({ response }: Call, { version, url }: StatusServer): void {
  sendJson(response, 200, openApi(version, url()));
}

export async function serveHome(call: Call, server: StatusServer): Promise<void> {
  const { request, response } = call;
  const { config, version } = server;
  // Where it was asked for is where it can be reached, whatever it listens on.
  const { host } = request.headers;
  const url = host === undefined ? server.url() : `http://${host}`;
  const [first] = (await currentList(server)).data;
  const page = homePage(config, { url, version, firstModel: first?.id });
  response.writeHead(200, {
    "content-type": "text/html; charset=utf-8",
    "content-length": Buffer.byteLength(page),
    "content-security-policy":
      "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
  });
  response.end(page);
}

async function currentList(
  { config, discovery }: StatusServer,
  asked?: string,
): Promise<ReturnType<typeof modelList>> {
  await discovery.ready(firstListMs);
  const discovered = discovery.snapshot();
  return modelList({ config, discovered, ...(asked === undefined ? {} : { asked }) });
}
