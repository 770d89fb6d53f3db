import { isObject, type JsonObject } from "../json.ts";

export interface CodexChatTool {
  type: "function";
  /** A second time, at the top level: Codex sent it so. */
  name: string;
  function: JsonObject;
}

/** Tools of a Responses request as Codex declared them on the Chat wire: functions only, all others are dropped. */
export function chatTools(tools: readonly unknown[]): CodexChatTool[] {
  return tools.filter(isObject).flatMap(({ type, ...declared }): CodexChatTool[] => {
    if (type !== "function") return [];
    const name = typeof declared["name"] === "string" ? declared["name"] : "";
    return [{ type: "function", name, function: declared }];
  });
}
