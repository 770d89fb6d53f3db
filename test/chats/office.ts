import { setTimeout } from "node:timers/promises";
import {
  defineTool,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  type ToolGroup,
} from "@deltawire/agent";
import type { JsonObject } from "@deltawire/wire";

export interface Office {
  readonly group: ToolGroup;
  /** What the tools were called with, in order. */
  readonly got: { tool: string; input: JsonObject }[];
}

export const officeRules = "In the office everybody is polite.";

interface Run {
  (input: JsonObject, context: ToolContext): unknown;
}

/** Tools of every kind that the tests need. What `say` and `private_say` return is what they were given. */
export function office(answers: Readonly<Record<string, Run>> = {}): Office {
  const got: Office["got"] = [];
  const tool = (name: string, run: Run, more: Partial<ToolDefinition<JsonObject>> = {}): Tool =>
    defineTool<JsonObject>({
      name,
      description: `It can ${name}.`,
      input: { type: "object" },
      ...more,
      run: (input, context) => {
        got.push({ tool: name, input });
        return (answers[name] ?? run)(input, context);
      },
    });
  const said: Run = ({ text }) => `said: ${text as string}`;
  return {
    got,
    group: {
      name: "office",
      description: "Everything in the office.",
      rules: officeRules,
      tools: [
        tool("say", said),
        tool("private_say", said, { unmask: false }),
        tool("ask_first", () => "it was allowed", { approval: "ask always" }),
        tool("show_first", () => "SECRET-RESULT", { approval: { result: "always" } }),
        tool("fetch_long", () => longText, { effect: "pure" }),
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

/** Longer than a model is told at once. */
export const longText = Array.from({ length: 5000 }, (_one, line) => `line ${line}`).join("\n");
