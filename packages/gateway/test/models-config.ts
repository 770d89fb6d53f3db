import { genericProfile } from "@deltawire/wire";
import type { Config, ModelAlias, ModelTarget, UpstreamConfig } from "../src/config/config.ts";

/** Upstreams by name, each with its configured models or undefined, and aliases as a configuration file has them. */
export function configOf(
  upstreams: Record<string, readonly string[] | undefined>,
  aliases: Record<string, string | readonly string[]> = {},
  contextWindows: Record<string, number> = {},
): Config {
  return {
    // No question about models looks at what is empty here.
    server: {} as Config["server"],
    upstreams: new Map(
      Object.entries(upstreams).map(([name, models]) => [name, upstreamOf(name, models)]),
    ),
    models: new Map(
      Object.entries(aliases).map(([name, targets]) => [
        name,
        aliasOf({
          targets: [targets].flat().map(targetOf),
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
    warnings: [],
  };
}

/** A name of `[models]` that says nothing but this of itself. */
export function aliasOf(said: Partial<ModelAlias>): ModelAlias {
  return {
    targets: [],
    contextWindow: undefined,
    price: undefined,
    type: undefined,
    takes: undefined,
    tools: undefined,
    options: {},
    ...said,
  };
}

export function upstreamOf(name: string, models?: readonly string[]): UpstreamConfig {
  return {
    name,
    baseUrl: `http://${name}.test/v1`,
    speaks: "chat",
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

function targetOf(text: string): ModelTarget {
  const slash = text.indexOf("/");
  return { upstream: text.slice(0, slash), model: text.slice(slash + 1) };
}
