import type { JsonObject } from "../json.ts";

/**
 * How the client's tools were offered to a Chat upstream, which supports only functions and sometimes custom tools. Built
 * by the request translator. The reply translator uses it to convert each call back to the form in which its tool was
 * declared.
 */
export interface ToolTranslation {
  /** The names under which the tools were offered: flattened, shortened and with valid characters. */
  readonly upstreamNames: ReadonlySet<string>;
  /** The parameters by upstream name, for calls whose values have no types. */
  readonly schemas?: ReadonlyMap<string, JsonObject>;
  /** Returns the client's tool for an upstream name, or undefined if it was not declared. */
  findDeclared(upstreamName: string): DeclaredTool | undefined;
}

export type DeclaredTool = NamedTool<"function"> | NamedTool<"custom"> | { kind: BuiltInToolKind };

interface NamedTool<Kind extends string> {
  kind: Kind;
  name: string;
  namespace?: string;
  /** True if the client may return the result in a later request, while the conversation continues. */
  async?: true;
}

/** Tools that the client runs and that have their own types of call items. */
export type BuiltInToolKind = "tool_search" | "local_shell" | "shell" | "apply_patch";

export const noToolTranslation: ToolTranslation = {
  upstreamNames: new Set(),
  findDeclared: () => undefined,
};
