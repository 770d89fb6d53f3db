import { createHash } from "node:crypto";
import { errorText } from "@deltawire/agent";
import { didYouMean, quoted } from "@deltawire/tasks";
import type { Config, UpstreamConfig } from "../config/config.ts";
import type { ModelDiscovery } from "../models/discovery.ts";
import type { CachedModelList, ModelListCache } from "../models/list-cache.ts";
import { modelsOf } from "../models/resolve.ts";
import type { Relay } from "../relay/relay.ts";
import type { McpStatus } from "../tasks/mcp-status.ts";
import { isHttps } from "../security/session.ts";
import type { UpstreamHealth } from "../upstream/upstream-health.ts";
import type { BuiltPage } from "./built-page.ts";
import { matchesEtag, sendJson, sendJsonBytes, type Call } from "./call.ts";
import { homePage } from "./home-page.ts";
import { Problem } from "../problem.ts";
import { servePage } from "./serve-page.ts";

export interface StatusServer {
  config: Config;
  relay: Relay;
  discovery: ModelDiscovery;
  models: ModelListCache;
  openApi: OpenApiDocument;
  page: BuiltPage;
  /** MCP servers, with what is known to be wrong with them. */
  mcp: () => readonly McpStatus[];
  version: string;
  url: () => string;
  isDraining: () => boolean;
}

/** The OpenAPI document as it is served, built at the first request for it. */
export class OpenApiDocument {
  readonly #version: string;
  #built: { readonly url: string; readonly bytes: Buffer; readonly etag: string } | undefined;

  constructor(version: string) {
    this.#version = version;
  }

  /** For a gateway at this address. */
  async at(url: string): Promise<{ readonly bytes: Buffer; readonly etag: string }> {
    if (this.#built?.url === url) return this.#built;
    const { openApi } = await import("./openapi.ts");
    const bytes = Buffer.from(JSON.stringify(openApi(this.#version, url)));
    const hash = createHash("sha256").update(bytes).digest("base64url").slice(0, 22);
    this.#built = { url, bytes, etag: `"${hash}"` };
    return this.#built;
  }
}

/** How long a list waits for upstreams that have never answered; Codex asks for it while it starts. */
const firstListMs = 1500;

/** `?model=` names one that nobody listed, so that Codex finds it in its catalogue all the same. */
export async function serveModels(call: Call, server: StatusServer): Promise<void> {
  const asked = call.url.searchParams.get("model") ?? undefined;
  sendJsonBytes(call.response, (await currentList(server, asked)).json());
}

export async function serveModel({ response, rest }: Call, server: StatusServer): Promise<void> {
  const { list } = await currentList(server);
  const found = list.data.find(({ id }) => id === rest);
  if (found === undefined)
    throw new Problem(
      "model_not_found",
      `there is no model ${quoted(rest)};${didYouMean(
        rest,
        list.data.map(({ id }) => id),
      )} GET /v1/models lists all`,
      { param: "model" },
    );
  sendJson(response, 200, found);
}

export function serveUpstreams({ response }: Call, server: StatusServer): void {
  const discovered = server.discovery.snapshot();
  const upstreams = [...server.relay.upstreams.values()].map(({ config, health }) => ({
    name: config.name,
    base_url: config.baseUrl,
    speaks: config.speaks,
    profile: config.profile.name,
    has_key: config.apiKey !== undefined,
    ...(config.apiKeyVariable === undefined ? {} : { key_variable: config.apiKeyVariable }),
    circuit: health.state,
    paused_models: health.pausedModels(Date.now()).map(({ model, lastError }) => ({
      model,
      last_problem: lastError?.message ?? "",
    })),
    failing_models: health
      .failingModels()
      .filter(({ model }) => modelsOf(config, discovered).has(model))
      .map(({ model, problem, at }) => ({
        model,
        last_problem: problem.message,
        last_bad_at: isoOf(at),
      })),
    ...keyProblemOf(config, health, server),
    ...(health.lastGoodAt === undefined ? {} : { last_good_at: isoOf(health.lastGoodAt) }),
    ...(health.lastBadAt === undefined ? {} : { last_bad_at: isoOf(health.lastBadAt) }),
    ...(health.lastError === undefined ? {} : { last_problem: health.lastError.message }),
    listing: standingOf(config, server),
    models: [...modelsOf(config, discovered).keys()],
  }));
  sendJson(response, 200, { upstreams, mcp: server.mcp() });
}

/**
 * Why the upstream rejected its key: at the last request, or later, when it was asked for its models. One that never listed them
 * may not allow that to a key that is good for requests.
 */
function keyProblemOf(config: UpstreamConfig, health: UpstreamHealth, server: StatusServer) {
  const { keyProblem, lastGoodAt } = health;
  if (keyProblem !== undefined) return { key_problem: keyProblem.message };
  const standing = server.discovery.standing(config);
  if (standing.is !== "failed" || (standing.status !== 401 && standing.status !== 403)) return {};
  const { at, hasListed, why } = standing;
  if (lastGoodAt !== undefined && !(hasListed && at > lastGoodAt)) return {};
  return { key_problem: errorText(why, server.relay.redactor) };
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

function standingOf(upstream: UpstreamConfig, { discovery, relay }: StatusServer) {
  const standing = discovery.standing(upstream);
  return standing.is === "failed"
    ? { is: standing.is, why: errorText(standing.why, relay.redactor) }
    : standing;
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

export async function serveOpenApi(call: Call, { openApi, url }: StatusServer): Promise<void> {
  const { request, response } = call;
  const { bytes, etag } = await openApi.at(url());
  const headers = { etag, "cache-control": "no-cache" };
  if (matchesEtag(etag, request.headers)) return void response.writeHead(304, headers).end();
  sendJsonBytes(response, bytes, headers);
}

/** The page, and without one the words that connect a client. */
export async function serveHome(call: Call, server: StatusServer): Promise<void> {
  if (await servePage(call, server.page)) return;
  const { response } = call;
  const { config, version } = server;
  const page = homePage(config, {
    url: reachedAt(call, server),
    version,
    firstModel: await firstModel(server),
  });
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

/** Where it was asked for is where it can be reached, whatever it listens on. */
export function reachedAt({ request }: Call, server: StatusServer): string {
  const { headers } = request;
  if (headers.host === undefined) return server.url();
  return `${isHttps(headers) ? "https" : "http"}://${headers.host}`;
}

export async function firstModel(server: StatusServer): Promise<string | undefined> {
  return (await currentList(server)).list.data[0]?.id;
}

async function currentList(
  { models, discovery }: StatusServer,
  asked?: string,
): Promise<CachedModelList> {
  await discovery.ready(firstListMs);
  return models.get(discovery.snapshot(), asked);
}
