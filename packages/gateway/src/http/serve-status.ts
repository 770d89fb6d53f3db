import { createHash } from "node:crypto";
import { redactErrorText } from "@deltawire/agent/basics";
import { didYouMean, quoteExcerpt } from "@deltawire/tasks";
import type { Config, UpstreamConfig } from "../config/config.ts";
import { findModelAlias } from "../config/model-patterns.ts";
import type { LessonSync } from "../learning/lesson-sync.ts";
import type { ModelDiscovery } from "../models/model-discovery.ts";
import type { CachedModelList, ModelListCache } from "../models/model-list-cache.ts";
import { getUpstreamModels, resolveModel } from "../models/resolve-model.ts";
import type { Relay } from "../relay/relay.ts";
import type { McpStatus } from "../tasks/mcp-status.ts";
import { isHttps } from "../security/session.ts";
import type { UpstreamHealth } from "../upstream/upstream-health.ts";
import type { BuiltPage } from "./built-page.ts";
import { matchesEtag, sendJson, sendJsonBytes, type RequestContext } from "./request-context.ts";
import { renderHomePage } from "./home-page.ts";
import { GatewayError } from "../gateway-error.ts";
import { servePage } from "./serve-page.ts";

export interface StatusRouteServices {
  config: Config;
  relay: Relay;
  lessonSync: LessonSync;
  discovery: ModelDiscovery;
  models: ModelListCache;
  openApiDocument: OpenApiDocument;
  page: BuiltPage;
  /** Returns the MCP servers with their known problems. */
  getMcpStatus: () => readonly McpStatus[];
  version: string;
  getUrl: () => string;
  isDraining: () => boolean;
  /** False while a store that several processes share cannot be reached. */
  isStoreReachable: () => boolean;
}

/** Builds the OpenAPI document on the first request and caches it. */
export class OpenApiDocument {
  readonly #version: string;
  #cached: { readonly url: string; readonly bytes: Buffer; readonly etag: string } | undefined;

  constructor(version: string) {
    this.#version = version;
  }

  /** Returns the document of a gateway with this URL. */
  async getForUrl(url: string): Promise<{ readonly bytes: Buffer; readonly etag: string }> {
    if (this.#cached?.url === url) return this.#cached;
    const { buildOpenApiDocument } = await import("./openapi-document.ts");
    const bytes = Buffer.from(JSON.stringify(buildOpenApiDocument(this.#version, url)));
    const hash = createHash("sha256").update(bytes).digest("base64url").slice(0, 22);
    this.#cached = { url, bytes, etag: `"${hash}"` };
    return this.#cached;
  }
}

/** How long the model list waits for upstreams that have never listed their models. Short, because Codex waits for it to start. */
const firstListTimeoutMs = 1500;

/** Sends the list of models. `?model=` adds one that no upstream lists, so that Codex finds it in its catalog. */
export async function serveModels(
  context: RequestContext,
  services: StatusRouteServices,
): Promise<void> {
  const requestedName = context.url.searchParams.get("model") ?? undefined;
  sendJsonBytes(context.response, (await loadModelList(services, requestedName)).toJson());
}

export async function serveModel(
  { response, pathParam }: RequestContext,
  services: StatusRouteServices,
): Promise<void> {
  // The list has no names that match a pattern of [models].
  const isConfigured = findModelAlias(pathParam, services.config) !== undefined;
  const { list } = await loadModelList(services, isConfigured ? pathParam : undefined);
  const model = list.data.find(({ id }) => id === pathParam);
  if (model === undefined) {
    const resolution = resolveModel(pathParam, services.config, services.discovery.getModels());
    const message = resolution.ok
      ? `unknown model ${quoteExcerpt(pathParam)}${didYouMean(
          pathParam,
          list.data.map(({ id }) => id),
        )}; GET /v1/models lists all models`
      : resolution.message;
    throw new GatewayError("model_not_found", message, { param: "model" });
  }
  sendJson(response, 200, model);
}

export function serveUpstreams({ response }: RequestContext, services: StatusRouteServices): void {
  const discovered = services.discovery.getModels();
  const upstreams = [...services.relay.upstreams.values()].map(({ config, health }) => ({
    name: config.name,
    base_url: config.baseUrl,
    speaks: config.speaks,
    learned_apis: services.relay.lessons.listLearnedApis(config.name, config.speaks),
    profile: config.profile.name,
    has_key: config.apiKey !== undefined,
    ...(config.apiKeyVariable === undefined ? {} : { key_variable: config.apiKeyVariable }),
    circuit: health.state,
    paused_models: health.listPausedModels(Date.now()).map(({ model, lastError }) => ({
      model,
      last_error: lastError?.message ?? "",
    })),
    failing_models: health
      .listFailingModels()
      .filter(({ model }) => getUpstreamModels(config, discovered).has(model))
      .map(({ model, problem, at }) => ({
        model,
        last_error: problem.message,
        last_failure_at: toIsoString(at),
      })),
    ...findKeyError(config, health, services),
    ...(health.lastSuccessAt === undefined
      ? {}
      : { last_success_at: toIsoString(health.lastSuccessAt) }),
    ...(health.lastFailureAt === undefined
      ? {}
      : { last_failure_at: toIsoString(health.lastFailureAt) }),
    ...(health.lastError === undefined ? {} : { last_error: health.lastError.message }),
    listing: formatListing(config, services),
    models: [...getUpstreamModels(config, discovered).keys()],
  }));
  sendJson(response, 200, { upstreams, mcp: services.getMcpStatus() });
}

/**
 * Returns why the upstream rejected its API key, in the last request or in a model listing. A rejected listing is ignored
 * after a successful request, unless listing had worked and the rejection is newer: some keys may not list models.
 */
function findKeyError(
  config: UpstreamConfig,
  health: UpstreamHealth,
  services: StatusRouteServices,
) {
  const { keyError, lastSuccessAt } = health;
  if (keyError !== undefined) return { key_error: keyError.message };
  const state = services.discovery.getState(config);
  if (state.status !== "failed" || (state.httpStatus !== 401 && state.httpStatus !== 403))
    return {};
  const { failedAt, hasListed, reason } = state;
  if (lastSuccessAt !== undefined && !(hasListed && failedAt > lastSuccessAt)) return {};
  return { key_error: redactErrorText(reason, services.relay.redactor) };
}

function toIsoString(ms: number): string {
  return new Date(ms).toISOString();
}

function formatListing(upstream: UpstreamConfig, { discovery, relay }: StatusRouteServices) {
  const state = discovery.getState(upstream);
  return state.status === "failed"
    ? { status: state.status, reason: redactErrorText(state.reason, relay.redactor) }
    : { status: state.status };
}

export function serveLessons({ response }: RequestContext, { relay }: StatusRouteServices): void {
  sendJson(response, 200, { lessons: relay.lessons.list() });
}

export async function forgetLessons(
  { response, url }: RequestContext,
  { relay, lessonSync }: StatusRouteServices,
): Promise<void> {
  const upstream = url.searchParams.get("upstream") ?? undefined;
  const model = url.searchParams.get("model") ?? undefined;
  if (upstream !== undefined && !relay.upstreams.has(upstream))
    throw new GatewayError("not_found", `unknown upstream "${upstream}"`, {
      param: "upstream",
    });
  relay.lessons.forget(upstream, model);
  // Otherwise the next start of the gateway, or another process, would load them again.
  await lessonSync.sync();
  sendJson(response, 200, { lessons: relay.lessons.list() });
}

export function serveHealth({ response }: RequestContext, { version }: StatusRouteServices): void {
  sendJson(response, 200, { status: "ok", version });
}

export function serveReady({ response }: RequestContext, services: StatusRouteServices): void {
  const problem = services.isDraining()
    ? "shutting down"
    : services.isStoreReachable()
      ? undefined
      : "the store cannot be reached";
  sendJson(response, problem === undefined ? 200 : 503, { status: problem ?? "ready" });
}

export async function serveOpenApi(
  context: RequestContext,
  { openApiDocument, getUrl }: StatusRouteServices,
): Promise<void> {
  const { request, response } = context;
  const { bytes, etag } = await openApiDocument.getForUrl(getUrl());
  const headers = { etag, "cache-control": "no-cache" };
  if (matchesEtag(etag, request.headers)) return void response.writeHead(304, headers).end();
  sendJsonBytes(response, bytes, headers);
}

/** Serves the web page or, if it has not been built, instructions for connecting clients. */
export async function serveHome(
  context: RequestContext,
  services: StatusRouteServices,
): Promise<void> {
  if (await servePage(context, services.page)) return;
  const { response } = context;
  const { config, version } = services;
  const page = renderHomePage(config, {
    url: getPublicUrl(context, services),
    version,
    firstModel: await findFirstModel(services),
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

/** Returns the URL with which the client reached the gateway. Its listening address may differ. */
export function getPublicUrl({ request }: RequestContext, services: StatusRouteServices): string {
  const { headers } = request;
  if (headers.host === undefined) return services.getUrl();
  return `${isHttps(headers) ? "https" : "http"}://${headers.host}`;
}

async function findFirstModel(services: StatusRouteServices): Promise<string | undefined> {
  return (await loadModelList(services)).list.data[0]?.id;
}

export async function loadModelList(
  { models, discovery }: StatusRouteServices,
  requestedName?: string,
): Promise<CachedModelList> {
  await discovery.waitUntilReady(firstListTimeoutMs);
  return models.get(discovery.getModels(), requestedName);
}
