import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { errorText, usualLimits, type Agent } from "@deltawire/agent";
import type { Store } from "@deltawire/store";
import type { AgentConfig, Config, UpstreamConfig } from "./config/config.ts";
import type { World } from "./config/find.ts";
import { nearest } from "@deltawire/tasks";
import { plainUpstream } from "./config/upstream.ts";
import { BuiltPage } from "./http/built-page.ts";
import type { Call } from "./http/call.ts";
import { Problem } from "./problem.ts";
import { serveCodex } from "./http/serve-codex.ts";
import { servePageAsset } from "./http/serve-page.ts";
import { servePassthrough } from "./http/serve-passthrough.ts";
import { serveChat, serveResponses, type ReplyServer } from "./http/serve-replies.ts";
import { serveSession, sessionServer, signIn, signOut } from "./http/serve-session.ts";
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
  type StatusServer,
} from "./http/serve-status.ts";
import { httpServer, type Patience } from "./http/server.ts";
import { createLog, type Log, type LogTarget } from "./log.ts";
import { askForModels } from "./models/ask-upstream.ts";
import { ModelDiscovery, upstreamProblem } from "./models/discovery.ts";
import { ModelListCache } from "./models/list-cache.ts";
import { modelsOf, resolveModel } from "./models/resolve.ts";
import { Envelopes } from "./reasoning/envelope.ts";
import { sealingKey } from "./reasoning/key-file.ts";
import { Relay } from "./relay/relay.ts";
import { redactorFor } from "./security/redactor.ts";
import { mcpStatus } from "./tasks/mcp-status.ts";
import { TaskEndpoints } from "./http/task-endpoints.ts";
import { version } from "./version.ts";

export interface GatewayOptions {
  config: Config;
  env: Readonly<Record<string, string | undefined>>;
  /** Where the sealing key is kept; undefined: in memory, for as long as the process runs. */
  dataFolder: string | undefined;
  /** Where the configuration was read from: agents do not reach it by their tools for files. */
  configFile?: string | undefined;
  /** The folder that the page was built into; undefined: the one of this package. */
  page?: string | undefined;
  /** Where the gateway's user keeps things, Codex's configuration among them; undefined: nobody looks there. */
  world?: World | undefined;
  logTo: LogTarget;
  /** The caller shows `storeProblem` and `mcpProblems` to a person: they are not logged at the start. */
  showsProblems?: boolean;
  /** Where tasks are kept, instead of what the configuration says. It is closed with the gateway. */
  store?: Store;
  /** Agents from code, beside those of the configuration. */
  agents?: readonly Agent[];
  /** Silence is counted in beats, of a second unless told otherwise. */
  beatMs?: number;
  /** How soon a store that could not be opened is tried again; 5 s unless told otherwise. */
  storeAgainMs?: number;
  /** For clients that send slowly; 15 s and 5 minutes unless told otherwise. */
  patience?: Patience;
}

export interface Gateway {
  /** Where it listens: `http://127.0.0.1:4141`. */
  url: string;
  /** With the demo upstream, where that is served. */
  config: Config;
  relay: Relay;
  discovery: ModelDiscovery;
  /** Why there are no chats and tasks now, if there are none. */
  readonly storeProblem: string | undefined;
  /** MCP servers that cannot be started, as far as that is known at the start. */
  readonly mcpProblems: readonly string[];
  log: Log;
  /** Takes no more requests, lets those that run end within the limit, and ends the rest. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

const longestName = 300;
/** How long a list, or a name that nobody knows yet, waits for upstreams that have not told their models. */
const firstAnswersMs = 1500;
/** How soon upstreams that failed are asked for their models again while none is known. */
const failedAgainMs = 1000;

/** Puts the parts together and listens. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { env, dataFolder, logTo } = options;
  const log = createLog(options.config.server.logLevel, logTo, redactorFor(options.config));
  const demo = options.config.server.demo ? await startDemoUpstream(options.config) : undefined;
  const agents = [...(options.agents ?? []), ...(demo?.agents ?? [])];
  const config = withAgents(
    demo === undefined ? options.config : withUpstream(options.config, demo.upstream),
    agents,
  );
  const relay = new Relay(config, new Envelopes(keyIn(dataFolder, log)), env, options.beatMs);
  const discovery = new ModelDiscovery({
    upstreams: config.upstreams.values(),
    ask: ({ name }) => {
      const upstream = relay.upstreams.get(name);
      return upstream === undefined ? Promise.resolve([]) : askForModels(upstream);
    },
    // A server that echoes its key as a name gets no model of that name.
    isListed: (id) => relay.redactor.redactData(id) === id,
    now: Date.now,
    onFailure: ({ name }, cause) =>
      log.debug(
        { upstream: name, cause: errorText(String(cause), relay.redactor) },
        "the models of an upstream are not known",
      ),
  });
  relay.suggestModel = (name, model) => {
    const upstream = config.upstreams.get(name);
    const listed = upstream && modelsOf(upstream, discovery.snapshot());
    return listed === undefined || listed.has(model) ? undefined : nearest(model, listed.keys());
  };

  const replies: ReplyServer = {
    relay,
    async targetsOf(model) {
      if (model.length > longestName)
        throw new Problem("invalid_request", "model: no name is that long", { param: "model" });
      let resolved = resolveModel(model, config, discovery.snapshot());
      if (!resolved.ok) {
        // An upstream that has it may not have told yet.
        await discovery.ready(firstAnswersMs);
        resolved = resolveModel(model, config, discovery.snapshot());
      }
      if (resolved.ok) return resolved.targets;
      throw new Problem("model_not_found", resolved.message, { param: "model" });
    },
  };
  const { targetsOf } = replies;
  const { configFile, beatMs, store } = options;
  const tasks = await TaskEndpoints.start({
    config,
    dataFolder,
    configFile,
    relay,
    targetsOf,
    discovered: () => discovery.snapshot(),
    async whenDiscovered() {
      const known = discovery.snapshot();
      const isEmpty = [...config.upstreams.values()].every(
        (upstream) => modelsOf(upstream, known).size === 0,
      );
      // A server that has come up meanwhile should not have to wait for its turn.
      if (isEmpty) discovery.askFailed(failedAgainMs);
      await discovery.ready(firstAnswersMs);
      return discovery.snapshot();
    },
    problemOf(name) {
      const upstream = relay.upstreams.get(name);
      if (upstream === undefined) return undefined;
      return upstreamProblem(upstream, discovery.standing(upstream.config), relay.redactor);
    },
    builtInAgents: agents,
    log,
    beatMs,
    againMs: options.storeAgainMs,
    ...(store === undefined ? {} : { store }),
  });
  replies.agents = { has: (name) => config.agents.has(name), server: () => tasks.agents() };
  const status: StatusServer = {
    config,
    relay,
    discovery,
    models: new ModelListCache(config),
    openApi: new OpenApiDocument(version),
    page: new BuiltPage(options.page),
    // They are started with this environment.
    mcp: () => mcpStatus(config.mcp.values(), process.env),
    version,
    url: () => url,
    isDraining: () => http.draining,
  };
  const mcpProblems = status.mcp().flatMap(({ problem }) => problem ?? []);
  if (options.showsProblems !== true) logProblems(log, tasks.problem?.message, mcpProblems);
  const session = sessionServer(config.server, version, log);
  const through = (path: string) => (call: Call) => servePassthrough(call, replies, path);
  const http = httpServer(
    config.server,
    {
      responses: (call) => serveResponses(call, replies),
      chat: (call) => serveChat(call, replies),
      models: (call) => serveModels(call, status),
      model: (call) => serveModel(call, status),
      embeddings: through("/embeddings"),
      "image generations": through("/images/generations"),
      "image edits": through("/images/edits"),
      transcriptions: through("/audio/transcriptions"),
      translations: through("/audio/translations"),
      speech: through("/audio/speech"),
      upstreams: (call) => serveUpstreams(call, status),
      codex: (call) => serveCodex(call, { ...status, world: options.world }),
      lessons: (call) => serveLessons(call, status),
      "forget lessons": (call) => forgetLessons(call, status),
      health: (call) => serveHealth(call, status),
      ready: (call) => serveReady(call, status),
      openapi: (call) => serveOpenApi(call, status),
      home: (call) => serveHome(call, status),
      "page asset": (call) => servePageAsset(call, status.page),
      session: (call) => serveSession(call, session),
      "sign in": (call) => signIn(call, session),
      "sign out": (call) => signOut(call, session),
      ...tasks.handlers,
    },
    log,
    options.patience,
  );
  const release = async (waitMs: number): Promise<void> => {
    await tasks.close(waitMs);
    await relay.close();
    await demo?.close();
  };
  http.server.listen(config.server.port, config.server.host);
  try {
    await once(http.server, "listening");
  } catch (error) {
    await release(0);
    throw error;
  }
  const url = urlOf(config.server.host, http.server.address() as AddressInfo);
  discovery.snapshot(); // asks, and nobody waits
  tasks.recover();

  return {
    url,
    config,
    relay,
    discovery,
    get storeProblem() {
      return tasks.problem?.message;
    },
    mcpProblems,
    log,
    async drain() {
      tasks.letGo();
      const end = Date.now() + config.server.drainSeconds * 1000;
      const limit = setTimeout(() => http.abort(), config.server.drainSeconds * 1000);
      await http.drain();
      clearTimeout(limit);
      await release(Math.max(0, end - Date.now()));
    },
    async close() {
      tasks.letGo();
      const drained = http.drain();
      http.abort();
      await drained;
      await release(0);
    },
  };
}

async function startDemoUpstream({ agents }: Config): Promise<{
  upstream: UpstreamConfig;
  agents: readonly Agent[];
  close: () => Promise<void>;
}> {
  // Loaded on demand: most gateways never need it, and a start should not wait for it.
  const { demoAgents, startDemo } = await import("@deltawire/demo");
  const demo = await startDemo({ paceMs: 15 });
  const upstream = plainUpstream({ name: "demo", baseUrl: demo.url, speaks: "chat" });
  return {
    upstream,
    agents: agents.size === 0 ? demoAgents("demo/clean") : [],
    close: () => demo.close(),
  };
}

function withUpstream(config: Config, upstream: UpstreamConfig): Config {
  return { ...config, upstreams: new Map([...config.upstreams, [upstream.name, upstream]]) };
}

/** Clients find agents from code where they find the others. */
function withAgents(config: Config, agents: readonly Agent[]): Config {
  const listed = agents.map((agent): [string, AgentConfig] => [
    agent.name,
    {
      ...agent,
      model: typeof agent.model === "string" ? agent.model : (agent.model.name ?? agent.name),
      toolGroups: [],
      agents: agent.agents.map(({ name }) => name),
      limits: { ...usualLimits, ...agent.limits },
      options: {},
    },
  ]);
  return { ...config, agents: new Map([...config.agents, ...listed]) };
}

export function logProblems(
  log: Log,
  storeProblem: string | undefined,
  mcpProblems: readonly string[],
): void {
  if (storeProblem !== undefined) log.error(`no tasks for now: ${storeProblem}`);
  for (const problem of mcpProblems) log.warn(problem);
}

/** A folder that cannot be written costs what is sealed at the next start, and nothing else. */
function keyIn(folder: string | undefined, log: Log): Buffer {
  if (folder === undefined) return randomBytes(32);
  try {
    return sealingKey(folder);
  } catch (error) {
    log.warn(
      { cause: (error as Error).message },
      "the sealing key cannot be kept; sealed reasoning ends with this process",
    );
    return randomBytes(32);
  }
}

function urlOf(host: string, { port }: AddressInfo): string {
  const name = host.includes(":") ? `[${host}]` : host;
  return `http://${name}:${port}`;
}
