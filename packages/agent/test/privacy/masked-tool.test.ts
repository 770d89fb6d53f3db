import { defineTool, createMaskedTool, type ToolContext } from "@deltawire/agent";
import { expect, test } from "vitest";
import type { StreamedOutput } from "../../src/calls/streamed-output.ts";
import { toolContext } from "../tool-context.ts";
import { newPlaceholderStore, newVault } from "./private-texts.ts";

const context = {} as ToolContext;
const storeNothing = newPlaceholderStore();
const echo = {
  name: "echo",
  description: "Echoes.",
  run: (input: unknown) => ({ received: input }),
};

test("a tool with unmask: false receives placeholders, and its result contains the values", async () => {
  const vault = newVault();
  const receivedInputs: unknown[] = [];
  const tool = createMaskedTool(
    defineTool({
      ...echo,
      unmask: false,
      run: (input) => {
        receivedInputs.push(input);
        return { ...echo.run(input), at: new Date(0) };
      },
    }),
    vault,
    storeNothing,
  );
  const input = { to: ["ada@example.com"], deep: { "ada@example.com": 1 } };
  expect(await tool.run(input, context)).toEqual({ received: input, at: new Date(0) });
  expect(receivedInputs).toEqual([{ to: ["{{EMAIL_1_x7f3}}"], deep: { "{{EMAIL_1_x7f3}}": 1 } }]);
});

test("the streamed output of a tool with unmask: false contains the values, even if it fails", async () => {
  const vault = newVault();
  const tool = createMaskedTool(
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
    storeNothing,
  );
  for (const fails of [false, true]) {
    const { stream, ...more } = toolContext();
    const ran = Promise.resolve(tool.run({ to: "ada@example.com", fails }, { ...more, stream }));
    const outcome = await ran.catch((error: unknown) => String(error));
    expect(outcome).toBe(fails ? "Error: no such address" : "sent");
    const { output } = await (stream as StreamedOutput).end();
    expect(output.block_list).toEqual([{ type: "text", text: "to ada@example.com" }]);
  }
});

test("every other tool is returned unchanged", () => {
  const tool = defineTool(echo);
  expect(createMaskedTool(tool, newVault(), storeNothing)).toBe(tool);
});
