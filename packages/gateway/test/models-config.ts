import { genericProfile } from "@deltawire/wire";
import type { Config, ModelAlias, ModelTarget, UpstreamConfig } from "../src/config/config.ts";

/** Creates a configuration: upstreams by name, with their configured models or undefined, and aliases. */
export function createConfig(
  upstreams: Record<string, readonly string[] | undefined>,
  aliases: Record<string, string | readonly string[]> = {},
  contextWindows: Record<string, number> = {},
): Config {
  return {
    // The empty fields do not affect models.
    server: {} as Config["server"],
    upstreams: new Map(
      Object.entries(upstreams).map(([name, models]) => [name, createUpstream(name, models)]),
    ),
    modelPatterns: new Map(),
    models: new Map(
      Object.entries(aliases).map(([name, targets]) => [
        name,
        createAlias({
          targets: [targets].flat().map(parseTarget),
          contextWindow: contextWindows[name],
        }),
      ]),
    ),
    agents: new Map(),
    tools: {} as Config["tools"],
    mcp: new Map(),
    chats: {} as Config["chats"],
    skills: new Map(),
    store: {} as Config["store"],
    bus: {} as Config["bus"],
    warnings: [],
  };
}

/** Creates an alias with defaults for all other fields. */
export function createAlias(overrides: Partial<ModelAlias>): ModelAlias {
  return {
    targets: [],
    contextWindow: undefined,
    price: undefined,
    type: undefined,
    inputModalities: undefined,
    supportsTools: undefined,
    options: {},
    ...overrides,
  };
}

export function createUpstream(name: string, models?: readonly string[]): UpstreamConfig {
  return {
    name,
    baseUrl: `http://${name}.test/v1`,
    speaks: "chat",
    detectsApi: false,
    messagesFlags: {},
    profile: genericProfile,
    apiKey: undefined,
    apiKeyVariable: undefined,
    apiKeyHeader: "authorization",
    headers: {},
    query: {},
    models,
    connectTimeoutMs: 1_000,
    idleTimeoutMs: 1_000,
    retries: 0,
  };
}

function parseTarget(text: string): ModelTarget {
  const slash = text.indexOf("/");
  return { upstream: text.slice(0, slash), model: text.slice(slash + 1) };
}
