import type { Skill } from "@deltawire/agent";
import { expect, test } from "vitest";
import { buildSkillsGroup } from "../../src/chats/skills.ts";
import { runTool, getTool } from "../tool-context.ts";

const tone: Skill = { name: "tone", description: "How we write", text: "Be kind.\n", always: true };
const tables: Skill = {
  name: "tables",
  description: "How tables\nare made",
  text: "# Tables\n\nUse pipes.",
  when: "the user wants a table",
  always: false,
};
const maps: Skill = { name: "maps", description: "", text: "Draw them.", always: false };

test("a skill with always: true is included completely, under its name", () => {
  const group = buildSkillsGroup([tone]);
  expect(group).toMatchObject({ rules: "# Skill: tone\n\nBe kind.", tools: [] });
});

test("other skills are listed after it, one per line, with a note on when to use them", () => {
  const { rules = "" } = buildSkillsGroup([tables, tone, maps]) ?? {};
  expect(rules.indexOf("Be kind.")).toBeLessThan(rules.indexOf("- tables"));
  expect(rules.split("\n").slice(-2)).toEqual([
    "- tables - How tables are made - Use it when: the user wants a table",
    "- maps",
  ]);
  expect(rules).not.toContain("Use pipes.");
  expect(rules).not.toContain("- tone");
});

test("only listed skills can be read", async () => {
  const group = buildSkillsGroup([tables, tone, maps]);
  if (group === undefined) throw new Error("there are skills");
  expect(await runTool(group, "read_skill", { name: "tables" })).toBe("# Tables\n\nUse pipes.");
  await expect(runTool(group, "read_skill", { name: "tone" })).rejects.toThrow("bad input");
  await expect(runTool(group, "read_skill", { name: "constructor" })).rejects.toThrow("bad input");
  expect(getTool(group, "read_skill")).toMatchObject({ effect: "pure", parallel: true });
});

test("without skills there is no group", () => {
  expect(buildSkillsGroup([])).toBeUndefined();
});
