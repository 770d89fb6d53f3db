import { setTimeout } from "node:timers/promises";
import {
  defineTool,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  type ToolGroup,
} from "@deltawire/agent";
import type { JsonObject } from "@deltawire/wire";

export interface OfficeTools {
  readonly group: ToolGroup;
  /** The arguments of all calls, in order. */
  readonly calls: { tool: string; input: JsonObject }[];
}

export const officeRules = "In the office everybody is polite.";

interface ToolRun {
  (input: JsonObject, context: ToolContext): unknown;
}

/** Creates the tools of the tests. `say` and `private_say` return their input. */
export function createOfficeTools(answers: Readonly<Record<string, ToolRun>> = {}): OfficeTools {
  const calls: OfficeTools["calls"] = [];
  const tool = (
    name: string,
    run: ToolRun,
    overrides: Partial<ToolDefinition<JsonObject>> = {},
  ): Tool =>
    defineTool<JsonObject>({
      name,
      description: `It can ${name}.`,
      input: { type: "object" },
      ...overrides,
      run: (input, context) => {
        calls.push({ tool: name, input });
        return (answers[name] ?? run)(input, context);
      },
    });
  const echo: ToolRun = ({ text }) => `said: ${text as string}`;
  return {
    calls,
    group: {
      name: "office",
      description: "Everything in the office.",
      rules: officeRules,
      tools: [
        tool("say", echo),
        tool("private_say", echo, { unmask: false }),
        tool("ask_first", () => "it was allowed", { approval: "ask_always" }),
        tool("show_first", () => "SECRET-RESULT", { approval: { result: "always" } }),
        tool("fetch_long", () => longToolOutput, { effect: "pure" }),
        tool("break", () => {
          throw new Error("the lift is stuck");
        }),
        tool("sleep", (_input, { signal }) => setTimeout(60_000, "slept", { signal }), {
          effect: "pure",
        }),
      ],
    },
  };
}

/** A tool result that is too long for a model. */
export const longToolOutput = Array.from({ length: 5000 }, (_, line) => `line ${line}`).join("\n");
