import type { Agent } from "../agent.ts";
import { builtInToolNames, createTool } from "../define-tool.ts";
import type { Tool } from "../tool.ts";

/*
 * The definitions of the two built-in tools, as the model sees them. They are implemented in `sub-agent.ts` and
 * `long-results.ts`.
 */

export interface AskForHelpInput {
  name: string;
  description: string;
  prompt: string;
}

export function createAskForHelpTool({ agents, helpApproval }: Agent): Tool {
  return {
    ...createTool({
      name: builtInToolNames.help,
      description: "Asks another agent for help and returns its answer.",
      input: {
        type: "object",
        properties: {
          name: {
            type: "string",
            enum: agents.map(({ name }) => name),
            description: "The agent's name.",
          },
          description: { type: "string", description: "A few words on what the agent should do." },
          prompt: {
            type: "string",
            description: "The task, with everything that the agent needs to know.",
          },
        },
        required: ["name", "prompt"],
        additionalProperties: false,
      },
      // After a crash, the sub-agent's task is resumed.
      effect: "idempotent",
      approval: helpApproval,
      parallel: true,
      run: throwNotCallable,
    }),
    // The sub-agent's own limits apply instead.
    timeoutMs: Number.POSITIVE_INFINITY,
    check(input) {
      const { name, description = "", prompt } = input as Record<string, unknown>;
      if (typeof prompt !== "string" || prompt === "")
        return { ok: false, problems: ["prompt: expected a non-empty string"] };
      if (typeof description !== "string")
        return { ok: false, problems: ["description: expected a string"] };
      const names = agents.map((agent) => agent.name);
      if (typeof name === "string" && names.includes(name))
        return { ok: true, value: { name, description, prompt } satisfies AskForHelpInput };
      const problem =
        typeof name === "string" ? `unknown agent "${name}"` : "expected the name of an agent";
      return { ok: false, problems: [`name: ${problem}; available: ${names.join(", ")}`] };
    },
  };
}

export interface ReadResultInput {
  result: string;
  offset: number;
}

export const readResultTool: Tool = createTool({
  name: builtInToolNames.read,
  description:
    "Reads the next part of a tool result that was truncated because it was too long. The note at the end of the result gives the arguments.",
  input: {
    type: "object",
    properties: {
      result: { type: "string", description: "The name of the result, as given in the note." },
      offset: {
        type: "integer",
        minimum: 0,
        description: "Character offset at which to continue.",
      },
    },
    required: ["result", "offset"],
    additionalProperties: false,
  },
  effect: "pure",
  // The tool can only read results that were already approved.
  approval: { result: "never" },
  parallel: true,
  run: throwNotCallable,
});

function throwNotCallable(): never {
  throw new TypeError("built-in tools have no run function: the runtime executes them itself");
}
