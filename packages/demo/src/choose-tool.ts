import { asText, isObject, type ChatRequest } from "@deltawire/wire";
import { fileCalls, isPatcher, samplePatch } from "./file-calls.ts";
import { fillSchema } from "./fill-schema.ts";
import { helperCalls } from "./helper-calls.ts";
import type { OfferedTool, Plan, PlannedCall } from "./offered-tools.ts";
import { commandCalls, shellAmong, shellCall } from "./shell-calls.ts";
import { escaped, TextHints, wordsOf } from "./text-hints.ts";

/** How much of the user's words is searched for wishes. */
const searchedLength = 4000;

/** Which of the offered tools the user's words ask for. No words that fit, no call. */
export function chooseCalls(
  said: string,
  request: ChatRequest,
  tools: readonly OfferedTool[],
): Plan {
  const words = said.slice(0, searchedLength);
  const forced = forcedTool(request, words, tools);
  if (forced !== undefined) {
    const asked = askedCalls(words, tools).calls.filter(({ name }) => name === forced.name);
    return asked.length > 0 ? announced(asked) : announced([callOf(forced, new TextHints(words))]);
  }
  return request.tool_choice === "none" ? { calls: [], says: "" } : askedCalls(words, tools);
}

function forcedTool(
  { tool_choice: choice }: ChatRequest,
  words: string,
  tools: readonly OfferedTool[],
): OfferedTool | undefined {
  if (choice === "required") {
    const asked = askedCalls(words, tools).calls[0]?.name;
    return tools.find(({ name }) => name === asked) ?? ranked(words, tools)[0]?.tool;
  }
  if (!isObject(choice)) return undefined;
  if (choice.type === "allowed_tools")
    return choice.allowed_tools.mode === "required" ? ranked(words, tools)[0]?.tool : undefined;
  const named = choice.type === "custom" ? choice.custom.name : choice.function.name;
  return tools.find(({ name }) => name === named);
}

function askedCalls(words: string, tools: readonly OfferedTool[]): Plan {
  const plans = [fileCalls, commandCalls, helperCalls].map((rule) => rule(words, tools));
  const asked = plans.filter(({ calls }) => calls.length > 0);
  if (asked.length > 0)
    return {
      calls: asked.flatMap(({ calls }) => calls),
      says: asked.map(({ says }) => says).join(" "),
    };
  if (/\b(?:every|all)(?: of)?(?: the| your| these)? tools?\b/i.test(words))
    return announced(tools.map((tool) => callOf(tool, new TextHints(words))));
  const named = tools
    .filter(({ name }) => new RegExp(`(?<!\\w)${escaped(name)}(?!\\w)`, "i").test(words))
    .toSorted((one, other) => words.indexOf(one.name) - words.indexOf(other.name));
  if (named.length > 1) return announced(named.map((tool) => callOf(tool, new TextHints(words))));
  const best = named[0] ?? ranked(words, tools).find(({ fits }) => fits)?.tool;
  return best === undefined ? { calls: [], says: "" } : announced(callsOf(best, words));
}

/** Tools by how well their names and descriptions go with the words, the best first. */
function ranked(words: string, tools: readonly OfferedTool[]) {
  const said = new Set(stems(words));
  return tools
    .map((tool) => ({ tool, ...overlap(tool, said) }))
    .toSorted((one, other) => other.score - one.score);
}

function overlap(tool: OfferedTool, said: ReadonlySet<string>): { score: number; fits: boolean } {
  const whole = wordsOf(tool.name.split("__").at(-1) ?? tool.name).flatMap(stems);
  const telling = whole.filter((word) => !verbs.has(word));
  const name = telling.length > 0 ? telling : whole;
  const hits = name.filter((word) => said.has(word)).length;
  // Codex describes some tools on many pages; what a tool is for stands in the first sentence.
  const [firstSentence = ""] = tool.description.trim().split(/(?<=[.!?])\s|\n|。/, 1);
  const about = new Set(stems(firstSentence.slice(0, 300)));
  const described = [...about].filter((word) => said.has(word) && !name.includes(word)).length;
  const score = 4 * (hits / Math.max(name.length, 1)) + hits + described;
  const fits =
    (name.length > 0 && hits === name.length) || (hits > 0 && described > 1) || described > 2;
  return { score, fits };
}

/** Words without their endings; of Chinese every two characters. */
function stems(text: string): string[] {
  const words = text.toLowerCase().match(/[a-z\d]+/g) ?? [];
  const latin = words
    .filter((word) => word.length > 2 && !smallWords.has(word))
    .map((word) =>
      word.length > 4 ? word.replace(/(?:ing|ed|es|s)$/, "") : word.replace(/s$/, ""),
    );
  const han = text.match(/\p{Script=Han}+/gu) ?? [];
  const pairs = han.flatMap((run) =>
    Array.from({ length: run.length - 1 }, (_, at) => run.slice(at, at + 2)),
  );
  return [...latin, ...pairs];
}

const smallWords = new Set(
  "the and for with this that from what which who how are you your can could would please tell show about into has have was will not one all any its our out use using used tool tools function when where why does did let make give need want".split(
    " ",
  ),
);

/** Verbs that say little about a tool as long as its name has another word. */
const verbs = new Set(
  ["get", "set", "fetch", "call", "run", "read", "find", "list", "search", "lookup", "look"].concat(
    ["query", "transfer", "current", "mcp"],
  ),
);

/** One call, or one for each of the things that the words list: the weather in Paris and Rome. */
function callsOf(tool: OfferedTool, words: string): PlannedCall[] {
  const hints = new TextHints(words);
  const { properties, required } = tool.parameters;
  const needed = Array.isArray(required) ? required : [];
  const property = isObject(properties) ? properties[asText(needed[0])] : undefined;
  const takesOne = needed.length === 1 && isObject(property) && property["type"] === "string";
  if (!takesOne || hints.listed.length < 2) return [callOf(tool, hints)];
  return hints.listed.map((name) => callOf(tool, new TextHints(words, { names: [name] })));
}

function callOf(tool: OfferedTool, hints: TextHints): PlannedCall {
  const { kind, name } = tool;
  // The user's words are no command: what nobody put in quotes is not run.
  if (shellAmong([tool]) !== undefined)
    return shellCall(tool, hints.takeQuoted() ?? "echo Hello from the demo model");
  if (isPatcher(tool)) return samplePatch(tool);
  if (kind === "custom") return { kind, name, input: hints.takeQuoted() ?? hints.words };
  const filled = fillSchema({ type: "object", ...tool.parameters }, hints);
  return { kind, name, arguments: isObject(filled) ? filled : {} };
}

function announced(calls: PlannedCall[]): Plan {
  const names = [...new Set(calls.map(({ name }) => `\`${name}\``))];
  return { calls, says: `I call ${names.join(", ")}.` };
}
