import type { Cuts } from "../cuts.ts";
import { pageOf, readOnInVariable } from "../calls/long-results.ts";
import { defineTool } from "../define-tool.ts";
import type { ToolGroup } from "../tool.ts";
import { variableTools } from "../variables/variables.ts";
import type { Variables } from "../variables/variables.ts";

const variablesRules = `Variables: long tool results and arguments are kept under a name; ${variableTools.list} tells the names, and ${variableTools.read} reads one in pages.
To pass one on as it is, write {{var:NAME}} in an argument of a tool call instead of its text.`;

/** What it reads has been released to the model before. */
const approval = { result: "never" } as const;

export function variablesGroup(variables: Variables, cuts?: Cuts): ToolGroup {
  const list = defineTool({
    name: variableTools.list,
    description: "Lists the variables of this conversation.",
    input: { type: "object", properties: {}, additionalProperties: false },
    effect: "pure",
    approval,
    run: async () => listOf(await variables.list()),
  });
  const read = defineTool<{ name: string; offset?: number }>({
    name: variableTools.read,
    description: "Reads a variable, from its beginning or from an offset on.",
    input: {
      type: "object",
      properties: {
        name: { type: "string", description: "Without the braces." },
        offset: { type: "integer", minimum: 0, description: "In characters." },
      },
      required: ["name"],
      additionalProperties: false,
    },
    effect: "pure",
    approval,
    run: async ({ name, offset = 0 }) => {
      const value = await variables.read(name);
      if (value !== undefined)
        return pageOf(value, name, offset, { readOn: readOnInVariable, cuts });
      throw new Error(`there is no variable "${name}". ${listOf(await variables.list())}`);
    },
  });
  return {
    name: "variables",
    description: "Read long values of the conversation in pages, and pass them on by name.",
    rules: variablesRules,
    tools: [list, read],
  };
}

function listOf(variables: Awaited<ReturnType<Variables["list"]>>): string {
  if (variables.length === 0) return "There are no variables yet.";
  const lines = variables.map(
    ({ name, tool, part, length }) => `- ${name}: ${length} characters, ${part} of ${tool}`,
  );
  return `The variables are:\n${lines.join("\n")}`;
}
