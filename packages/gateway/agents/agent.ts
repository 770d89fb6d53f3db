import type { ClientSet } from "../../../test/pinned-clients.ts";
import type { SceneName } from "./model/scenes.ts";
import type { Wire } from "./wires.ts";

/** A real agent with one of its APIs: a row of the table. */
export interface Agent {
  name: string;
  wire: Wire;
  /** The clients that it needs, if it is not a dependency of this repository. */
  set?: ClientSet;
  /** The version of an agent without a set. */
  version?: string;
  /** Only part of the long form. */
  isLong?: boolean;
  /** Writes its settings into its home and working folder. */
  configure?(place: AgentPlace): Promise<void>;
  /** `isResumed`: continues its last conversation. */
  buildCommand(prompt: string, place: AgentPlace, isResumed: boolean): AgentCommand;
  /** A host beyond loopback that it asks at every start, in vain. Default: none. */
  outsideHost?: string;
  /** What it does not support, on any gateway. */
  limits?: Partial<Record<SceneName, AgentLimit>>;
}

interface AgentLimit {
  /** The scene is not played, or the model does not require its reasoning. */
  kind: "unsupported" | "loses-reasoning";
  upstreams: readonly Wire[];
  reason: string;
}

export interface AgentPlace {
  /** The gateway's URL, without `/v1`. */
  url: string;
  model: string;
  home: string;
  cwd: string;
}

export interface AgentCommand {
  program: string;
  commandArguments: string[];
  env?: Record<string, string>;
}

/** Returns the limit of an agent in a cell of the table. */
export function findLimit(
  { limits }: Agent,
  upstream: Wire,
  scene: SceneName,
): AgentLimit | undefined {
  const limit = limits?.[scene];
  return limit?.upstreams.includes(upstream) === true ? limit : undefined;
}
