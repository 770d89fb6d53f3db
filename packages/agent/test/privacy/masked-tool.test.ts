import { expect, test } from "vitest";
import { defineTool } from "../../src/define-tool.ts";
import { maskedTool } from "../../src/privacy/masked-tool.ts";
import type { ToolContext } from "../../src/tool.ts";
import { newVault } from "./private-texts.ts";

const context = {} as ToolContext;
const keepNothing = (): Promise<void> => Promise.resolve();
const echo = { name: "echo", description: "Echoes.", run: (input: unknown) => ({ got: input }) };

test("a tool that wants no private values gets placeholders, and its answer is told with values", async () => {
  const vault = newVault();
  const got: unknown[] = [];
  const tool = maskedTool(
    defineTool({
      ...echo,
      unmask: false,
      run: (input) => {
        got.push(input);
        return { ...echo.run(input), at: new Date(0) };
      },
    }),
    vault,
    keepNothing,
  );
  const input = { to: ["ada@example.com"], deep: { "ada@example.com": 1 } };
  expect(await tool.run(input, context)).toEqual({ got: input, at: new Date(0) });
  expect(got).toEqual([{ to: ["{{EMAIL_1_x7f3}}"], deep: { "{{EMAIL_1_x7f3}}": 1 } }]);
});

test("every other tool is as it is", () => {
  const tool = defineTool(echo);
  expect(maskedTool(tool, newVault(), keepNothing)).toBe(tool);
});
