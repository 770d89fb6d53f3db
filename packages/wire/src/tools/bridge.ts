import type { JsonObject } from "../json.ts";

/**
 * What became of the tools a Responses client declared when they were offered to a Chat upstream, which
 * knows functions only. The request translator builds it; the stream translator uses it to give every
 * call back in the form in which its tool was declared.
 */
export interface ToolBridge {
  /** Names as the upstream knows them: flattened, shortened and within its alphabet. */
  readonly upstreamNames: ReadonlySet<string>;
  /** Their parameters by the same names, for calls whose values have no type of their own. */
  readonly schemas?: ReadonlyMap<string, JsonObject>;
  /** How a call by an upstream name is told to the client; undefined for a name nobody declared. */
  declared(upstreamName: string): DeclaredTool | undefined;
}

export type DeclaredTool =
  | { kind: "function"; name: string; namespace?: string }
  | { kind: "custom"; name: string; namespace?: string }
  | { kind: OwnFormKind };

/** Tools that the client runs and that have call items of their own. */
export type OwnFormKind = "tool_search" | "local_shell" | "shell" | "apply_patch";

export const noTools: ToolBridge = { upstreamNames: new Set(), declared: () => undefined };
