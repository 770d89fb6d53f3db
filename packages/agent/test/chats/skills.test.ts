import type { Skill } from "@deltawire/agent";
import { expect, test } from "vitest";
import { skillsGroup } from "../../src/chats/skills.ts";
import { runTool, toolOf } from "../tool-context.ts";

const tone: Skill = { name: "tone", description: "How we write", text: "Be kind.\n", always: true };
const tables: Skill = {
  name: "tables",
  description: "How tables\nare made",
  text: "# Tables\n\nUse pipes.",
  when: "the user wants a table",
  always: false,
};
const maps: Skill = { name: "maps", description: "", text: "Draw them.", always: false };

test("a skill that is always loaded is told whole, under its name", () => {
  const group = skillsGroup([tone]);
  expect(group).toMatchObject({ rules: "# Skill: tone\n\nBe kind.", tools: [] });
});

test("the others are listed behind it, in a line each, with when to use them", () => {
  const { rules = "" } = skillsGroup([tables, tone, maps]) ?? {};
  expect(rules.indexOf("Be kind.")).toBeLessThan(rules.indexOf("- tables"));
  expect(rules.split("\n").slice(-2)).toEqual([
    "- tables - How tables are made - Use it when: the user wants a table",
    "- maps",
  ]);
  expect(rules).not.toContain("Use pipes.");
  expect(rules).not.toContain("- tone");
});

test("what is listed can be read, and nothing else", async () => {
  const group = skillsGroup([tables, tone, maps]);
  if (group === undefined) throw new Error("there are skills");
  expect(await runTool(group, "read_skill", { name: "tables" })).toBe("# Tables\n\nUse pipes.");
  await expect(runTool(group, "read_skill", { name: "tone" })).rejects.toThrow("bad input");
  await expect(runTool(group, "read_skill", { name: "constructor" })).rejects.toThrow("bad input");
  expect(toolOf(group, "read_skill")).toMatchObject({ effect: "pure", parallel: true });
});

test("without skills there is no group", () => {
  expect(skillsGroup([])).toBeUndefined();
});
