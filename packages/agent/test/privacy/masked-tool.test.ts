import { defineTool, maskedTool, type ToolContext } from "@deltawire/agent";
import { expect, test } from "vitest";
import type { StreamedOutput } from "../../src/calls/streamed-output.ts";
import { toolContext } from "../tool-context.ts";
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

test("what such a tool streams is shown with values, also if it fails", async () => {
  const vault = newVault();
  const tool = maskedTool(
    defineTool<{ to: string; fails: boolean }>({
      ...echo,
      unmask: false,
      run: ({ to, fails }, { stream }) => {
        for (const character of `to ${to}`) stream.text(character);
        if (fails) throw new Error("no such address");
        return "sent";
      },
    }),
    vault,
    keepNothing,
  );
  for (const fails of [false, true]) {
    const { stream, ...more } = toolContext();
    const ran = Promise.resolve(tool.run({ to: "ada@example.com", fails }, { ...more, stream }));
    const came = await ran.catch((error: unknown) => String(error));
    expect(came).toBe(fails ? "Error: no such address" : "sent");
    const { output } = await (stream as StreamedOutput).end();
    expect(output.block_list).toEqual([{ type: "text", text: "to ada@example.com" }]);
  }
});

test("every other tool is as it is", () => {
  const tool = defineTool(echo);
  expect(maskedTool(tool, newVault(), keepNothing)).toBe(tool);
});
