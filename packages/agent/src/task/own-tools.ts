import type { Agent } from "../agent.ts";
import { ownNames, toolOf } from "../define-tool.ts";
import type { Tool } from "../tool.ts";

/*
 * The two tools that the runtime itself carries out: what they do is in `sub-agent.ts` and `long-results.ts`; here is what
 * the model is told of them.
 */

export interface HelpWanted {
  name: string;
  description: string;
  prompt: string;
}

export function askForHelp({ agents, helpApproval }: Agent): Tool {
  return {
    ...toolOf({
      name: ownNames.help,
      description: "Asks another agent for help and answers with what it found.",
      input: {
        type: "object",
        properties: {
          name: {
            type: "string",
            enum: agents.map(({ name }) => name),
            description: "The agent's name.",
          },
          description: { type: "string", description: "What it is for, in a few words." },
          prompt: { type: "string", description: "All that the agent has to know." },
        },
        required: ["name", "prompt"],
        additionalProperties: false,
      },
      // The help itself is a task that goes on where it was.
      effect: "idempotent",
      approval: helpApproval,
      parallel: true,
      run: carriedOutByTheRuntime,
    }),
    // An agent's own limits bound it.
    timeoutMs: Number.POSITIVE_INFINITY,
    check(input) {
      const { name, description = "", prompt } = input as Partial<HelpWanted>;
      const names = agents.map((agent) => agent.name);
      if (typeof prompt !== "string" || prompt === "")
        return { ok: false, problems: ["prompt: expected a text"] };
      if (typeof name !== "string" || !names.includes(name))
        return {
          ok: false,
          problems: [`name: there is no agent "${String(name)}"; there are ${names.join(", ")}`],
        };
      return { ok: true, value: { name, description, prompt } satisfies HelpWanted };
    },
  };
}

export interface PageWanted {
  result: string;
  offset: number;
}

export const readResult: Tool = toolOf({
  name: ownNames.read,
  description:
    "Reads on in a tool result that was cut because it was too long. The note at the cut says with which arguments.",
  input: {
    type: "object",
    properties: {
      result: { type: "string", description: "The name that the note gave." },
      offset: { type: "integer", minimum: 0, description: "Where to go on." },
    },
    required: ["result", "offset"],
    additionalProperties: false,
  },
  effect: "pure",
  // What it reads has been released.
  approval: { result: "never" },
  parallel: true,
  run: carriedOutByTheRuntime,
});

function carriedOutByTheRuntime(): never {
  throw new TypeError("this tool is carried out by the runtime");
}
