import { asString, isObject, type ChatRequest } from "@deltawire/wire";
import { planFileCalls, isPatchTool, buildSamplePatch } from "./file-calls.ts";
import { fillSchema } from "./fill-schema.ts";
import { planAgentCalls } from "./agent-calls.ts";
import type { OfferedTool, CallPlan, PlannedCall } from "./offered-tools.ts";
import { planShellCalls, findShellTool, buildShellCall } from "./shell-calls.ts";
import { escapeRegExp, PromptValues, splitWords } from "./prompt-values.ts";

/** Maximum number of characters of the prompt that are searched. */
const maxSearchedLength = 4000;

/** Returns the calls that the prompt requests. Empty if no tool matches. */
export function chooseCalls(
  fullPrompt: string,
  request: ChatRequest,
  tools: readonly OfferedTool[],
): CallPlan {
  const prompt = fullPrompt.slice(0, maxSearchedLength);
  const forcedTool = findForcedTool(request, prompt, tools);
  if (forcedTool !== undefined) {
    const requestedCalls = planRequestedCalls(prompt, tools).calls.filter(
      ({ name }) => name === forcedTool.name,
    );
    return requestedCalls.length > 0
      ? toCallPlan(requestedCalls)
      : toCallPlan([buildCall(forcedTool, new PromptValues(prompt))]);
  }
  return request.tool_choice === "none"
    ? { calls: [], text: "" }
    : planRequestedCalls(prompt, tools);
}

function findForcedTool(
  { tool_choice: choice }: ChatRequest,
  prompt: string,
  tools: readonly OfferedTool[],
): OfferedTool | undefined {
  if (choice === "required") {
    const requestedName = planRequestedCalls(prompt, tools).calls[0]?.name;
    return tools.find(({ name }) => name === requestedName) ?? rankTools(prompt, tools)[0]?.tool;
  }
  if (!isObject(choice)) return undefined;
  if (choice.type === "allowed_tools")
    return choice.allowed_tools.mode === "required" ? rankTools(prompt, tools)[0]?.tool : undefined;
  const forcedName = choice.type === "custom" ? choice.custom.name : choice.function.name;
  return tools.find(({ name }) => name === forcedName);
}

function planRequestedCalls(prompt: string, tools: readonly OfferedTool[]): CallPlan {
  const plans = [planFileCalls, planShellCalls, planAgentCalls].map((planCalls) =>
    planCalls(prompt, tools),
  );
  const requestedPlans = plans.filter(({ calls }) => calls.length > 0);
  if (requestedPlans.length > 0)
    return {
      calls: requestedPlans.flatMap(({ calls }) => calls),
      text: requestedPlans.map(({ text }) => text).join(" "),
    };
  if (/\b(?:every|all)(?: of)?(?: the| your| these)? tools?\b/i.test(prompt))
    return toCallPlan(tools.map((tool) => buildCall(tool, new PromptValues(prompt))));
  const namedTools = tools
    .filter(({ name }) => new RegExp(`(?<!\\w)${escapeRegExp(name)}(?!\\w)`, "i").test(prompt))
    .toSorted((first, second) => prompt.indexOf(first.name) - prompt.indexOf(second.name));
  if (namedTools.length > 1)
    return toCallPlan(namedTools.map((tool) => buildCall(tool, new PromptValues(prompt))));
  const bestTool = namedTools[0] ?? rankTools(prompt, tools).find(({ isMatch }) => isMatch)?.tool;
  return bestTool === undefined
    ? { calls: [], text: "" }
    : toCallPlan(buildCalls(bestTool, prompt));
}

/** Sorts tools by how well their names and descriptions match the prompt, best first. */
function rankTools(prompt: string, tools: readonly OfferedTool[]) {
  const promptStems = new Set(extractStems(prompt));
  return tools
    .map((tool) => ({ tool, ...scoreTool(tool, promptStems) }))
    .toSorted((first, second) => second.score - first.score);
}

function scoreTool(
  tool: OfferedTool,
  promptStems: ReadonlySet<string>,
): { score: number; isMatch: boolean } {
  const nameStems = splitWords(tool.name.split("__").at(-1) ?? tool.name).flatMap(extractStems);
  const distinctiveStems = nameStems.filter((word) => !genericVerbs.has(word));
  const scoredStems = distinctiveStems.length > 0 ? distinctiveStems : nameStems;
  const nameHits = scoredStems.filter((word) => promptStems.has(word)).length;
  // Some of Codex's descriptions are pages long; the purpose is in the first sentence.
  const [firstSentence = ""] = tool.description.trim().split(/(?<=[.!?])\s|\n|。/, 1);
  const descriptionStems = new Set(extractStems(firstSentence.slice(0, 300)));
  const descriptionHits = [...descriptionStems].filter(
    (word) => promptStems.has(word) && !scoredStems.includes(word),
  ).length;
  const score = 4 * (nameHits / Math.max(scoredStems.length, 1)) + nameHits + descriptionHits;
  const isMatch =
    (scoredStems.length > 0 && nameHits === scoredStems.length) ||
    (nameHits > 0 && descriptionHits > 1) ||
    descriptionHits > 2;
  return { score, isMatch };
}

/** Returns words without endings, and every two adjacent characters of Chinese text. */
function extractStems(text: string): string[] {
  const words = text.toLowerCase().match(/[a-z\d]+/g) ?? [];
  const latinStems = words
    .filter((word) => word.length > 2 && !stopWords.has(word))
    .map((word) =>
      word.length > 4 ? word.replace(/(?:ing|ed|es|s)$/, "") : word.replace(/s$/, ""),
    );
  const hanRuns = text.match(/\p{Script=Han}+/gu) ?? [];
  const pairs = hanRuns.flatMap((run) =>
    Array.from({ length: run.length - 1 }, (_, index) => run.slice(index, index + 2)),
  );
  return [...latinStems, ...pairs];
}

const stopWords = new Set(
  "the and for with this that from what which who how are you your can could would please tell show about into has have was will not one all any its our out use using used tool tools function when where why does did let make give need want".split(
    " ",
  ),
);

/** Verbs that are ignored if the tool's name has another word. */
const genericVerbs = new Set(
  ["get", "set", "fetch", "call", "run", "read", "find", "list", "search", "lookup", "look"].concat(
    ["query", "transfer", "current", "mcp"],
  ),
);

/** Builds one call, or one for each listed name, as in "the weather in Paris and Rome". */
function buildCalls(tool: OfferedTool, prompt: string): PlannedCall[] {
  const hints = new PromptValues(prompt);
  const { properties, required } = tool.parameters;
  const requiredNames = Array.isArray(required) ? required : [];
  const property = isObject(properties) ? properties[asString(requiredNames[0])] : undefined;
  const takesSingleValue =
    requiredNames.length === 1 && isObject(property) && property["type"] === "string";
  if (!takesSingleValue || hints.listedNames.length < 2) return [buildCall(tool, hints)];
  return hints.listedNames.map((name) =>
    buildCall(tool, new PromptValues(prompt, { names: [name] })),
  );
}

function buildCall(tool: OfferedTool, hints: PromptValues): PlannedCall {
  const { kind, name } = tool;
  // Only quoted text is run as a command.
  if (findShellTool([tool]) !== undefined)
    return buildShellCall(tool, hints.takeQuoted() ?? "echo Hello from the demo model");
  if (isPatchTool(tool)) return buildSamplePatch(tool);
  if (kind === "custom") return { kind, name, input: hints.takeQuoted() ?? hints.text };
  const schemaValue = fillSchema({ type: "object", ...tool.parameters }, hints);
  return { kind, name, arguments: isObject(schemaValue) ? schemaValue : {} };
}

function toCallPlan(calls: PlannedCall[]): CallPlan {
  const names = [...new Set(calls.map(({ name }) => `\`${name}\``))];
  return { calls, text: `Calling ${names.join(", ")}.` };
}
