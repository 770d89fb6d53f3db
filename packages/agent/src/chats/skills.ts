import { defineTool } from "../define-tool.ts";
import type { Tool, ToolGroup } from "../tool.ts";

/** How something is done well here, in Markdown. */
export interface Skill {
  readonly name: string;
  readonly description: string;
  readonly text: string;
  /** In which case the model should read it. */
  readonly when?: string;
  /** It is told in every request, and need not be read. */
  readonly always: boolean;
}

/** Undefined where there are none. */
export function skillsGroup(skills: readonly Skill[]): ToolGroup | undefined {
  if (skills.length === 0) return undefined;
  const listed = skills.filter(({ always }) => !always);
  const rules = skills
    .filter(({ always }) => always)
    .map(({ name, text }) => `# Skill: ${name}\n\n${text.trim()}`);
  if (listed.length > 0) rules.push(listOf(listed));
  return {
    name: "skills",
    description: "Read how something is done well here.",
    rules: rules.join("\n\n"),
    tools: listed.length > 0 ? [readSkill(listed)] : [],
  };
}

function listOf(skills: readonly Skill[]): string {
  const lines = skills.map(({ name, description, when = "" }) => {
    const about = [description, when === "" ? "" : `Use it when: ${when}`];
    return `- ${[name, ...about.map(inOneLine).filter((text) => text !== "")].join(" - ")}`;
  });
  return `# Skills\n\nBefore you do something that one of these is about, read it with read_skill and follow it:\n\n${lines.join("\n")}`;
}

function inOneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

function readSkill(skills: readonly Skill[]): Tool {
  const texts = new Map(skills.map(({ name, text }) => [name, text]));
  return defineTool<{ name: string }>({
    name: "read_skill",
    description: "Reads one of the skills that are listed.",
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
