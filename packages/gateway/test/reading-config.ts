import type { Config, UpstreamConfig } from "../src/config/config.ts";
import { ConfigError } from "../src/config/problems.ts";
import { readConfig, type Overrides } from "../src/config/read.ts";

type Env = Record<string, string | undefined>;

export function read(toml: string, env: Env = {}, overrides: Overrides = {}): Config {
  return readConfig(toml, { file: "d.toml", env, overrides });
}

/** What is wrong with a file, a line each. */
export function problemsIn(
  toml: string,
  env: Env = {},
  overrides: Overrides = {},
): readonly string[] {
  return refusalOf(() => read(toml, env, overrides)).problems;
}

export function refusalOf(work: () => unknown): ConfigError {
  try {
    work();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

/** The lines of one upstream that is good. */
export const zai = '[upstreams.zai]\nbase_url = "https://api.z.ai/v4"\nspeaks = "chat"\n';

export function upstreamOf(config: Config, name: string): UpstreamConfig {
  const upstream = config.upstreams.get(name);
  if (upstream === undefined) throw new Error(`there is no upstream ${name}`);
  return upstream;
}
