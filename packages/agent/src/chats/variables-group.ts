import type { TruncationGuard } from "../truncate.ts";
import { renderTextPage, formatReadVariableCall } from "../calls/long-results.ts";
import { defineTool } from "../define-tool.ts";
import type { ToolGroup } from "../tool.ts";
import { variableToolNames } from "../variables/variables.ts";
import type { Variables } from "../variables/variables.ts";

const variableRules = `Variables: long tool results and arguments are saved under a name; ${variableToolNames.list} lists the names, and ${variableToolNames.read} reads one in pages.
To pass one on unchanged, write {{var:NAME}} in an argument of a tool call instead of its text.`;

/** The content was already approved when it was saved. */
const approval = { result: "never" } as const;

export function buildVariablesGroup(
  variables: Variables,
  truncationGuard?: TruncationGuard,
): ToolGroup {
  const list = defineTool({
    name: variableToolNames.list,
    description: "Lists the variables of this conversation.",
    input: { type: "object", properties: {}, additionalProperties: false },
    effect: "pure",
    approval,
    run: async () => formatVariableList(await variables.list()),
  });
  const read = defineTool<{ name: string; offset?: number }>({
    name: variableToolNames.read,
    description: "Reads a variable, from the beginning or from an offset.",
    input: {
      type: "object",
      properties: {
        name: {
          type: "string",
          description: "Its name, for example fetch_page_1, without {{var:}}.",
        },
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
        return renderTextPage(value, name, offset, {
          formatNextPageCall: formatReadVariableCall,
          truncationGuard,
        });
      throw new Error(
        `there is no variable "${name}". ${formatVariableList(await variables.list())}`,
      );
    },
  });
  return {
    name: "variables",
    description: "Read long values of the conversation in pages, and pass them on by name.",
    rules: variableRules,
    tools: [list, read],
  };
}

function formatVariableList(variables: Awaited<ReturnType<Variables["list"]>>): string {
  if (variables.length === 0) return "There are no variables yet.";
  const lines = variables.map(
    ({ name, tool, part, length }) => `- ${name}: ${length} characters, ${part} of ${tool}`,
  );
  return `The variables are:\n${lines.join("\n")}`;
}
