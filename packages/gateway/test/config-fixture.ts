import type { Config, UpstreamConfig } from "../src/config/config.ts";
import { ConfigError } from "../src/config/config-problems.ts";
import { parseConfig, type ConfigOverrides } from "../src/config/parse-config.ts";

type Env = Record<string, string | undefined>;

export function parseToml(toml: string, env: Env = {}, overrides: ConfigOverrides = {}): Config {
  return parseConfig(toml, { file: "d.toml", env, overrides });
}

/** Returns the problems of a configuration, one line each. */
export function listProblems(
  toml: string,
  env: Env = {},
  overrides: ConfigOverrides = {},
): readonly string[] {
  return catchConfigError(() => parseToml(toml, env, overrides)).problems;
}

export function catchConfigError(work: () => unknown): ConfigError {
  try {
    work();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error("nothing was rejected");
}

/** A valid upstream. */
export const zaiToml = '[upstreams.zai]\nbase_url = "https://api.z.ai/v4"\nspeaks = "chat"\n';

export function getUpstream(config: Config, name: string): UpstreamConfig {
  const upstream = config.upstreams.get(name);
  if (upstream === undefined) throw new Error(`there is no upstream ${name}`);
  return upstream;
}

/** Formats a problem as the gateway does: the name of an unknown setting comes after the words "unknown setting". */
export function formatProblem(line: number, section: string, problem: string): string {
  const [, unknown] = /^unknown setting (.+)$/.exec(problem) ?? [];
  const text =
    unknown === undefined ? `${section}.${problem}` : `unknown setting ${section}.${unknown}`;
  return `d.toml:${line}: ${text}`;
}
