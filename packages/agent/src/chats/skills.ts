import { defineTool } from "../define-tool.ts";
import type { Tool, ToolGroup } from "../tool.ts";

/** Instructions for a kind of work, in Markdown. */
export interface Skill {
  readonly name: string;
  readonly description: string;
  readonly text: string;
  /** When the model should read the skill. */
  readonly when?: string;
  /** If true, the text is included in every request; otherwise the model reads it on demand. */
  readonly always: boolean;
}

/** Returns a tool group that lists the skills and lets the model read them, or undefined if there are no skills. */
export function buildSkillsGroup(skills: readonly Skill[]): ToolGroup | undefined {
  if (skills.length === 0) return undefined;
  const listedSkills = skills.filter(({ always }) => !always);
  const rules = skills
    .filter(({ always }) => always)
    .map(({ name, text }) => `# Skill: ${name}\n\n${text.trim()}`);
  if (listedSkills.length > 0) rules.push(formatSkillList(listedSkills));
  return {
    name: "skills",
    description: "Read instructions for specific kinds of work.",
    rules: rules.join("\n\n"),
    tools: listedSkills.length > 0 ? [createReadSkillTool(listedSkills)] : [],
  };
}

function formatSkillList(skills: readonly Skill[]): string {
  const lines = skills.map(({ name, description, when = "" }) => {
    const details = [description, when === "" ? "" : `Use it when: ${when}`];
    return `- ${[name, ...details.map(collapseWhitespace).filter((text) => text !== "")].join(" - ")}`;
  });
  return `# Skills\n\nBefore you start work that one of these skills covers, read that skill with read_skill and follow it:\n\n${lines.join("\n")}`;
}

function collapseWhitespace(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

function createReadSkillTool(skills: readonly Skill[]): Tool {
  const texts = new Map(skills.map(({ name, text }) => [name, text]));
  return defineTool<{ name: string }>({
    name: "read_skill",
    description: "Reads one of the listed skills.",
    input: {
      type: "object",
      properties: { name: { type: "string", enum: [...texts.keys()] } },
      required: ["name"],
      additionalProperties: false,
    },
    effect: "pure",
    run: ({ name }) => texts.get(name),
  });
}
