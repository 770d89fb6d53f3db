import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { Agent } from "@deltawire/agent";
import { redactErrorText, defaultLimits } from "@deltawire/agent/basics";
import type { Store } from "@deltawire/store";
import type { AgentConfig, Config, UpstreamConfig } from "./config/config.ts";
import { findModelAlias } from "./config/model-patterns.ts";
import type { HostEnvironment } from "./config/config-paths.ts";
import { findClosestMatch } from "@deltawire/tasks";
import { createUpstreamConfig } from "./config/upstreams.ts";
import { BuiltPage } from "./http/built-page.ts";
import type { RequestContext } from "./http/request-context.ts";
import { GatewayError } from "./gateway-error.ts";
import { ResponseHistory } from "./history/response-history.ts";
import { createFileHandlers } from "./http/serve-files.ts";
import { createConversationHandlers } from "./http/serve-conversations.ts";
import { createResponseHandlers } from "./http/serve-responses.ts";
import { servePageAsset } from "./http/serve-page.ts";
import { servePassthrough } from "./http/serve-passthrough.ts";
import type { ModelRouteServices } from "./http/model-route-services.ts";
import { serveCompact, serveInputTokens } from "./http/serve-compaction.ts";
import { countMessagesTokens, serveMessages } from "./http/serve-messages.ts";
import { serveChatCompletions, serveResponses } from "./http/serve-model-requests.ts";
import { serveSession, createSessionServices, signIn, signOut } from "./http/serve-session.ts";
import {
  OpenApiDocument,
  forgetLessons,
  serveHealth,
  serveHome,
  serveLessons,
  serveModel,
  serveModels,
  serveOpenApi,
  serveReady,
  serveUpstreams,
  type StatusRouteServices,
} from "./http/serve-status.ts";
import { ResponseSockets } from "./http/response-sockets.ts";
import { createHttpServer, type RequestTimeouts } from "./http/server.ts";
import { LessonSync } from "./learning/lesson-sync.ts";
import { createLog, logBackgroundResponse, type Log, type LogTarget } from "./log.ts";
import { fetchModelList } from "./models/fetch-model-list.ts";
import { ModelDiscovery, describeUpstreamProblem } from "./models/model-discovery.ts";
import { ModelListCache } from "./models/model-list-cache.ts";
import { getUpstreamModels, resolveModel } from "./models/resolve-model.ts";
import { EnvelopeCipher } from "./reasoning/envelope-cipher.ts";
import {
  loadSealingKey,
  useCopiedSealingKey,
  useSharedSealingKey,
} from "./reasoning/sealing-key.ts";
import { Relay } from "./relay/relay.ts";
import { BackgroundResponses } from "./responses/background-responses.ts";
import { createKeyHandlers } from "./http/serve-keys.ts";
import { AccessControl } from "./security/access-control.ts";
import { createRedactor } from "./security/create-redactor.ts";
import { loadLocalToken } from "./security/local-token.ts";
import { checkMcpServers } from "./tasks/mcp-status.ts";
import { resolveStorePath } from "./configured-store.ts";
import { IdempotentRequests } from "./tasks/idempotent-requests.ts";
import { TaskEndpoints } from "./http/task-endpoints.ts";
import { createUpstreamFingerprint } from "./upstream/upstream-fingerprint.ts";
import { version } from "./version.ts";

export interface GatewayOptions {
  config: Config;
  /** Environment variables. Proxy settings such as HTTPS_PROXY are read from them. */
  env: Readonly<Record<string, string | undefined>>;
  /** Folder of the sealing key, the local token and, unless `store.path` is set, the database. Undefined: all are in memory only. */
  dataFolder: string | undefined;
  /** The path of the configuration file, which the file tools of agents cannot access. */
  configFile?: string | undefined;
  /** Folder with the built page. Default: `page` in this package. */
  pageFolder?: string | undefined;
  /** Used to find the settings of the user's coding agents. Undefined: they are not read. */
  hostEnvironment?: HostEnvironment | undefined;
  logTarget: LogTarget;
  /** True if the caller displays `storeProblem` and `mcpProblems`, so they are not logged at startup. Default: false. */
  callerShowsProblems?: boolean;
  /** Overrides the configured store. It is closed with the gateway. */
  store?: Store;
  /** Agents defined in code, in addition to the configured ones. */
  agents?: readonly Agent[];
  /** Interval of the timer that checks for idle streams, in milliseconds; default 1000. */
  tickMs?: number;
  /** Delay before another attempt to open the store, in milliseconds; default 5000. */
  storeRetryMs?: number;
  /** Time limits for receiving a request; default 15 s for the headers and 5 minutes for the complete request. */
  timeouts?: RequestTimeouts;
}

export interface Gateway {
  /** The URL of the address that the gateway listens on, such as `http://127.0.0.1:4141`. */
  url: string;
  /** The configuration with the demo upstream, if it is served, and the agents defined in code. */
  config: Config;
  relay: Relay;
  discovery: ModelDiscovery;
  /** Why chats and tasks are unavailable at the moment. Undefined: they are available. */
  readonly storeProblem: string | undefined;
  /** MCP servers whose program was not found when the gateway started, as messages. */
  readonly mcpProblems: readonly string[];
  /** The token with which commands on this machine send requests. */
  localToken: string;
  log: Log;
  /** Stops accepting requests, waits up to `server.drain_seconds` for the running ones, and aborts the rest. */
  drain(): Promise<void>;
  /** Returns what `drain` is waiting for. */
  listClosing(): string[];
  /** Aborts all requests and stops. */
  close(): Promise<void>;
}

const megabyte = 1024 * 1024;
const dayMs = 24 * 60 * 60 * 1000;
/** Limit for responses while the store is in memory. */
const maxResponsesInMemoryMb = 64;
const maxModelNameLength = 300;
const firstKeyWarning =
  'the first access key was created: requests without a key are rejected from now on (401 missing_token), also those of the page. Give each client a key ("keys create NAME"), or set server.tokens and give it one of them';
/** How long a model list, or a request for an unknown model, waits for upstreams that have not listed their models yet. */
const discoveryWaitMs = 1500;
/** Minimum interval between model list requests to failed upstreams while no model is known. */
const failedRetryMs = 1000;

/** Creates all parts of the gateway and starts listening. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { env, dataFolder, logTarget } = options;
  const log = createLog(options.config.server.logLevel, logTarget, createRedactor(options.config));
  const demo = options.config.server.demo ? await startDemoUpstream(options.config) : undefined;
  const agents = [...(options.agents ?? []), ...(demo?.agents ?? [])];
  const config = withAgents(
    demo === undefined ? options.config : withUpstream(options.config, demo.upstream),
    agents,
  );
  const { sealingKey: configuredKey } = config.server;
  const isStoreShared =
    options.store?.isShared ?? (config.store.enabled && config.store.url !== undefined);
  const sealingKey = loadSealingKey({
    configured: configuredKey,
    dataFolder,
    isStoreShared,
    onWarning: (message, cause) => log.warn({ cause: cause.message }, message),
  });
  const envelopeCipher = new EnvelopeCipher(sealingKey);
  const relay = new Relay(config, envelopeCipher, env, options.tickMs);
  const lessonSync = new LessonSync({
    registry: relay.lessons,
    getFingerprint(name) {
      const upstream = config.upstreams.get(name);
      return upstream && createUpstreamFingerprint(upstream);
    },
    onFailure: (message, cause) =>
      log.warn({ cause: redactErrorText(String(cause), relay.redactor) }, message),
  });
  const localToken = loadLocalToken({
    sealingKey: configuredKey,
    dataFolder,
    // Not a warning: a container may have no folder to write to.
    onWarning: (message, cause) => log.info({ cause: cause.message }, message),
  });
  const access = new AccessControl({
    clients: config.server.clients,
    localToken,
    storePath: options.store === undefined ? resolveStorePath({ config, dataFolder }) : undefined,
    getPrice: (model) => findModelAlias(model, config)?.price,
    getStoreProblem: () => tasks.unavailableError,
    onFailure: (message, cause) =>
      log.warn({ cause: redactErrorText(String(cause), relay.redactor) }, message),
    onKeyRequired: ({ wasKnown }) =>
      wasKnown ? log.warn(firstKeyWarning) : log.info("requests need an access key (keys list)"),
  });
  const isStoreInMemory =
    options.store === undefined &&
    config.store.url === undefined &&
    resolveStorePath({ config, dataFolder }) === undefined;
  const maxResponseBytes =
    (isStoreInMemory ? maxResponsesInMemoryMb : config.store.responsesMaxMb) * megabyte;
  const history = new ResponseHistory({
    summaries: envelopeCipher,
    maxAgeMs: config.store.responseDays * dayMs,
    maxBytes: maxResponseBytes,
    onFailure: (message, cause) =>
      log.warn({ cause: redactErrorText(String(cause), relay.redactor) }, message),
  });
  const discovery = new ModelDiscovery({
    upstreams: config.upstreams.values(),
    fetchList: ({ name }) => {
      const upstream = relay.upstreams.get(name);
      return upstream === undefined ? Promise.resolve([]) : fetchModelList(upstream);
    },
    // Hides names that contain a secret: a server may echo its API key.
    isListed: (id) => relay.redactor.redactData(id) === id,
    now: Date.now,
    onFailure: ({ name }, cause) =>
      log.debug(
        { upstream: name, cause: redactErrorText(String(cause), relay.redactor) },
        "could not list the models of an upstream",
      ),
  });
  relay.suggestModel = (name, model) => {
    const upstream = config.upstreams.get(name);
    const upstreamModels = upstream && getUpstreamModels(upstream, discovery.getModels());
    return upstreamModels === undefined || upstreamModels.has(model)
      ? undefined
      : findClosestMatch(model, upstreamModels.keys());
  };

  const background = new BackgroundResponses({
    relay,
    summaries: envelopeCipher,
    resolveTargets: (model) => modelServices.resolveTargets(model),
    meter: access.meter,
    accessKeys: access.keys,
    onEnd: (entry) => logBackgroundResponse(log, entry),
    onFailure: (message, cause) =>
      log.warn({ cause: redactErrorText(String(cause), relay.redactor) }, message),
  });
  const idempotentRequests = new IdempotentRequests(
    { claimIdempotencyKey: (...args) => history.getStore().claimIdempotencyKey(...args) },
    {
      getStore() {
        const openedStore = history.getStore();
        return openedStore.isShared ? openedStore : undefined;
      },
    },
  );
  const modelServices: ModelRouteServices = {
    relay,
    history,
    background,
    idempotentRequests,
    summaries: envelopeCipher,
    usageMeter: access.meter,
    async resolveTargets(model) {
      if (model.length > maxModelNameLength)
        throw new GatewayError(
          "invalid_request",
          `model: the name must be at most ${maxModelNameLength} characters long`,
          { param: "model" },
        );
      let resolved = resolveModel(model, config, discovery.getModels());
      if (!resolved.ok) {
        // An upstream that has the model may not have listed its models yet.
        await discovery.waitUntilReady(discoveryWaitMs);
        resolved = resolveModel(model, config, discovery.getModels());
      }
      if (resolved.ok) return resolved.targets;
      throw new GatewayError("model_not_found", resolved.message, { param: "model" });
    },
  };
  const { resolveTargets } = modelServices;
  const { configFile, tickMs, store } = options;
  const tasks = await TaskEndpoints.start({
    config,
    dataFolder,
    configFile,
    relay,
    history,
    resolveTargets,
    getDiscoveredModels: () => discovery.getModels(),
    async waitForDiscoveredModels() {
      const discovered = discovery.getModels();
      const isEmpty = [...config.upstreams.values()].every(
        (upstream) => getUpstreamModels(upstream, discovered).size === 0,
      );
      // An upstream that could not be reached may be running now.
      if (isEmpty) discovery.retryFailed(failedRetryMs);
      await discovery.waitUntilReady(discoveryWaitMs);
      return discovery.getModels();
    },
    describeUpstreamProblem(name) {
      const upstream = relay.upstreams.get(name);
      if (upstream === undefined) return undefined;
      return describeUpstreamProblem(upstream, discovery.getState(upstream.config), relay.redactor);
    },
    builtInAgents: agents,
    async onStoreOpen(openedStore) {
      if (configuredKey === undefined)
        await (isStoreShared
          ? useSharedSealingKey(openedStore, sealingKey, envelopeCipher)
          : useCopiedSealingKey(openedStore, envelopeCipher));
      await lessonSync.attach(openedStore);
      await access.attachStore(openedStore);
      history.attachStore(openedStore);
      background.attachStore(openedStore);
    },
    async onStoreClose() {
      await history.detachStore();
      await lessonSync.detach();
      await access.detachStore();
    },
    meterAgent: (...args) => access.meterAgent(...args),
    meterModel: (...args) => access.meterModel(...args),
    watchTaskKeys: (...args) => access.watchTaskKeys(...args),
    log,
    tickMs,
    retryMs: options.storeRetryMs,
    ...(store === undefined ? {} : { store }),
  });
  await access.keys.start();
  modelServices.agents = {
    has: (name) => config.agents.has(name),
    getServices: () => tasks.getAgentServices(),
  };
  const statusServices: StatusRouteServices = {
    config,
    relay,
    lessonSync,
    discovery,
    models: new ModelListCache(config),
    openApiDocument: new OpenApiDocument(version),
    page: new BuiltPage(options.pageFolder),
    // Not `env`: MCP servers inherit the environment of the process.
    getMcpStatus: () => checkMcpServers(config.mcp.values(), process.env),
    version,
    getUrl: () => url,
    isDraining: () => http.isDraining,
    isStoreReachable: () => tasks.isStoreReachable,
  };
  const mcpProblems = statusServices.getMcpStatus().flatMap(({ problem }) => problem ?? []);
  if (options.callerShowsProblems !== true)
    logProblems(log, tasks.unavailableError?.message, mcpProblems);
  const sessionServices = createSessionServices(access.authenticator, version, log);
  const passThrough = (path: string) => (context: RequestContext) =>
    servePassthrough(context, modelServices, path);
  const responseSockets = new ResponseSockets({
    services: modelServices,
    maxBytes: config.server.maxBodyBytes,
    maxJsonValues: config.server.maxJsonValues,
    admitRequest: (key) => access.meter.admitRequest(key),
    log,
  });
  const http = createHttpServer({
    config: config.server,
    handlers: {
      responses: (context) => serveResponses(context, modelServices),
      ...createResponseHandlers({ history, background }),
      "compact response": (context) => serveCompact(context, modelServices),
      "input tokens": (context) => serveInputTokens(context, modelServices),
      ...createFileHandlers({
        getStore: () => history.getStore(),
        maxTotalBytes: maxResponseBytes,
      }),
      ...createConversationHandlers({ getStore: () => history.getStore(), idempotentRequests }),
      chat: (context) => serveChatCompletions(context, modelServices),
      messages: (context) => serveMessages(context, modelServices),
      "count tokens": (context) => countMessagesTokens(context, modelServices),
      models: (context) => serveModels(context, statusServices),
      model: (context) => serveModel(context, statusServices),
      embeddings: passThrough("/embeddings"),
      "image generations": passThrough("/images/generations"),
      "image edits": passThrough("/images/edits"),
      transcriptions: passThrough("/audio/transcriptions"),
      translations: passThrough("/audio/translations"),
      speech: passThrough("/audio/speech"),
      upstreams: (context) => serveUpstreams(context, statusServices),
      async connect(context) {
        // Loaded on demand, with the readers of other programs' configurations.
        const { serveConnect } = await import("./http/serve-connect.ts");
        await serveConnect(context, {
          ...statusServices,
          hostEnvironment: options.hostEnvironment,
          isTokenRequired: () => access.authenticator.isRequired,
        });
      },
      lessons: (context) => serveLessons(context, statusServices),
      "forget lessons": (context) => forgetLessons(context, statusServices),
      health: (context) => serveHealth(context, statusServices),
      ready: (context) => serveReady(context, statusServices),
      openapi: (context) => serveOpenApi(context, statusServices),
      home: (context) => serveHome(context, statusServices),
      "page asset": (context) => servePageAsset(context, statusServices.page),
      session: (context) => serveSession(context, sessionServices),
      "sign in": (context) => signIn(context, sessionServices),
      "sign out": (context) => signOut(context, sessionServices),
      ...createKeyHandlers({ accessKeys: access.keys, getStore: () => access.getStore(), log }),
      ...tasks.handlers,
    },
    log,
    authenticator: access.authenticator,
    access,
    timeouts: options.timeouts,
    acceptWebSocket: (connection) => responseSockets.accept(connection),
    drainWebSockets: () => responseSockets.drain(),
  });
  const closing = new Set<string>();
  const closePart = async (name: string, closed: Promise<unknown>): Promise<void> => {
    closing.add(name);
    await closed;
    closing.delete(name);
  };
  const closeServices = async (waitMs: number): Promise<void> => {
    await closePart("background responses", background.close(waitMs));
    await closePart("tasks and store", tasks.close(waitMs));
    access.close();
    await closePart("upstreams", relay.close());
    await demo?.close();
  };
  http.server.listen(config.server.port, config.server.host);
  try {
    await once(http.server, "listening");
  } catch (error) {
    await closeServices(0);
    throw error;
  }
  const url = formatUrl(config.server.host, http.server.address() as AddressInfo);
  discovery.getModels(); // starts listing models in the background
  tasks.recover();
  background.recover();

  return {
    url,
    config,
    relay,
    discovery,
    get storeProblem() {
      return tasks.unavailableError?.message;
    },
    mcpProblems,
    localToken,
    log,
    listClosing: () => [...closing],
    async drain() {
      tasks.disconnectClients();
      background.disconnectClients();
      const drainMs = config.server.drainSeconds * 1000;
      const deadline = Date.now() + drainMs;
      const drainTimer = setTimeout(() => http.abortRequests(), drainMs);
      await closePart("requests", http.drain());
      clearTimeout(drainTimer);
      await closeServices(Math.max(0, deadline - Date.now()));
    },
    async close() {
      tasks.disconnectClients();
      background.disconnectClients();
      const drained = http.drain();
      http.abortRequests();
      await drained;
      await closeServices(0);
    },
  };
}

async function startDemoUpstream({ agents }: Config): Promise<{
  upstream: UpstreamConfig;
  agents: readonly Agent[];
  close: () => Promise<void>;
}> {
  // Loaded on demand: most gateways never need it.
  const { createDemoAgents, startDemoServer } = await import("@deltawire/demo");
  const demo = await startDemoServer({ paceMs: 15 });
  const upstream = createUpstreamConfig({ name: "demo", baseUrl: demo.url, speaks: "chat" });
  return {
    upstream,
    agents: agents.size === 0 ? createDemoAgents("demo/clean") : [],
    close: () => demo.close(),
  };
}

function withUpstream(config: Config, upstream: UpstreamConfig): Config {
  return { ...config, upstreams: new Map([...config.upstreams, [upstream.name, upstream]]) };
}

/** Adds agents defined in code, so that clients see them like the configured ones. */
function withAgents(config: Config, agents: readonly Agent[]): Config {
  const entries = agents.map((agent): [string, AgentConfig] => [
    agent.name,
    {
      ...agent,
      model: typeof agent.model === "string" ? agent.model : (agent.model.name ?? agent.name),
      toolGroups: [],
      agents: agent.agents.map(({ name }) => name),
      limits: { ...defaultLimits, ...agent.limits },
      options: {},
    },
  ]);
  return { ...config, agents: new Map([...config.agents, ...entries]) };
}

export function logProblems(
  log: Log,
  storeProblem: string | undefined,
  mcpProblems: readonly string[],
): void {
  if (storeProblem !== undefined) log.error(`chats and tasks are unavailable: ${storeProblem}`);
  for (const problem of mcpProblems) log.warn(problem);
}

function formatUrl(host: string, { port }: AddressInfo): string {
  const hostname = host.includes(":") ? `[${host}]` : host;
  return `http://${hostname}:${port}`;
}
