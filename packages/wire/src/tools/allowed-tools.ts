import { isObject, nonEmptyString, type JsonObject } from "../json.ts";
import type { ResponseToolChoice } from "../shapes/responses-request.ts";
import { matchesToolChoice } from "./offer-tools.ts";
import type { DeclaredTool } from "./tool-translation.ts";

/**
 * The limit that a `tool_choice` of type `allowed_tools` puts on the calls of a reply. Upstreams may ignore it, and models may
 * call a tool of an earlier turn, so calls of other tools are withheld from the client.
 */
export class AllowedTools {
  readonly #entries: readonly JsonObject[];

  private constructor(entries: readonly JsonObject[]) {
    this.#entries = entries;
  }

  /** Returns undefined if the choice does not limit the tools. */
  static find(choice: ResponseToolChoice | null | undefined): AllowedTools | undefined {
    if (!isObject(choice) || choice.type !== "allowed_tools") return undefined;
    return new AllowedTools((choice.tools ?? []).filter(isObject));
  }

  has(tool: DeclaredTool): boolean {
    return this.#entries.some((entry) => matchesToolChoice(tool, entry));
  }

  /** True for a call of an allowed tool, for a call without a name, and for items that are not calls of the client's tools. */
  allowsItem(item: JsonObject): boolean {
    const name = nonEmptyString(item["name"]);
    const namespace = nonEmptyString(item["namespace"]);
    switch (item["type"]) {
      case "function_call":
      case "custom_tool_call": {
        const kind = item["type"] === "function_call" ? "function" : "custom";
        if (name === undefined) return true;
        return this.has({ kind, name, ...(namespace === undefined ? {} : { namespace }) });
      }
      case "local_shell_call":
        return this.has({ kind: "local_shell" });
      case "shell_call":
        return this.has({ kind: "shell" });
      case "apply_patch_call":
        return this.has({ kind: "apply_patch" });
      case "computer_call":
        return this.#entries.some(({ type }) => nonEmptyString(type)?.startsWith("computer"));
      default:
        return true;
    }
  }
}

/** The failure of a reply that consists only of calls that are not allowed. */
export function createNotAllowedFailure(name: string): { code: string; message: string } {
  return {
    code: "tool_not_allowed",
    message: `the model called ${JSON.stringify(name)}, which tool_choice.tools does not allow`,
  };
}
