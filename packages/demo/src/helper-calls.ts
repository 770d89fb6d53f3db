import { isObject, parseJson } from "@deltawire/wire";
import type { ToolResult } from "./conversation.ts";
import type { OfferedTool, Plan, PlannedCall } from "./offered-tools.ts";
import { fillSchema } from "./fill-schema.ts";
import { TextHints, wordsOf } from "./text-hints.ts";

/** "ask Researcher to …", "请 Researcher …", "ask for help", "hand over to the Spanish agent": another agent is asked. */
export function helperCalls(words: string, tools: readonly OfferedTool[]): Plan {
  const wanted = askedHelper(words);
  const helper = wanted === undefined ? undefined : helperAmong(tools, wanted.name);
  if (wanted === undefined || helper === undefined) return { calls: [], says: "" };
  const whom = wanted.name === "" ? "for help" : `**${wanted.name}**`;
  return { calls: [helperCall(helper, wanted, words)], says: `I ask ${whom}.` };
}

/** Codex starts an agent with one tool and hears of it with another: who was started is waited for. */
export function waitForAgents(
  results: readonly ToolResult[],
  tools: readonly OfferedTool[],
): PlannedCall[] {
  const last = results.at(-1);
  const wait = tools.find(
    ({ kind, name }) => kind === "function" && /(?:^|__)wait_agent$/.test(name),
  );
  if (wait === undefined || last === undefined || !/(?:^|__)spawn_agent$/.test(last.name))
    return [];
  const started = parseJson(last.text);
  const id = isObject(started) ? started["agent_id"] : undefined;
  if (typeof id !== "string") return [];
  return [{ kind: "function", name: wait.name, arguments: { targets: [id] } }];
}

interface Wanted {
  name: string;
  prompt: string;
}

function askedHelper(words: string): Wanted | undefined {
  const asked =
    /\bask\s+(?:for\s+help|(?:the\s+|an?\s+|your\s+)?([\w -]{2,40}?))\s*(?:\b(?:to|for|about|with|whether|on)\b|[,:])\s*([^]*)/i.exec(
      words,
    ) ?? /\bask\s+for\s+(help)()/i.exec(words);
  if (asked !== null && !/^(?:me|you|yourself|myself|us|user)$/i.test(asked[1] ?? "")) {
    const name = /^help$/i.test(asked[1] ?? "") ? "" : (asked[1] ?? "");
    return { name, prompt: asked[2]?.trim() || words };
  }
  const inChinese =
    /(?:请|让|问问?)\s*([a-z][a-z\d-]{1,39})(?:\s*[，：]|\s+(?=\p{Script=Han}))\s*([^]+)/iu.exec(
      words,
    );
  if (inChinese !== null) return { name: inChinese[1] ?? "", prompt: inChinese[2] ?? words };
  const over =
    /\b(?:hand\s*(?:over|off)|transfer|delegate|switch)\b(?:\s+(?:me|this|it))?\s+to\s+(?:the\s+|an?\s+)?([\w -]{2,40})/i.exec(
      words,
    );
  return over === null ? undefined : { name: (over[1] ?? "").trim(), prompt: words };
}

/** A tool of this agent's own, else one that can ask anybody. */
function helperAmong(tools: readonly OfferedTool[], name: string): OfferedTool | undefined {
  const wanted = wordsOf(name.toLowerCase()).filter(
    (word) => !/^(?:agent|model|expert)$/.test(word),
  );
  const own = tools.filter((tool) => /^(?:transfer_to_|handoff_|hand_over_|ask_)/.test(tool.name));
  const itsOwn = own.find((tool) => {
    const words = wordsOf(tool.name.toLowerCase());
    return wanted.length > 0 && wanted.every((word) => words.includes(word));
  });
  const anybody = /^(?:.*__)?(?:ask_for_help|spawn_agent|delegate|task|run_agent)$/;
  return (
    itsOwn ?? tools.find((tool) => anybody.test(tool.name)) ?? (name === "" ? own[0] : undefined)
  );
}

function helperCall(tool: OfferedTool, { name, prompt }: Wanted, words: string): PlannedCall {
  if (tool.kind === "custom") return { kind: "custom", name: tool.name, input: prompt };
  const filled = fillSchema({ type: "object", ...tool.parameters }, new TextHints(prompt));
  const known: Record<string, string> = {
    name: name === "" ? "Helper" : name,
    description: `Helps with: ${prompt.slice(0, 100)}`,
    prompt,
    message: prompt,
    task: prompt,
    input: words,
  };
  const properties = isObject(tool.parameters["properties"]) ? tool.parameters["properties"] : {};
  const given = isObject(filled) ? filled : {};
  for (const [property, value] of Object.entries(known))
    if (property in properties && typeof (given[property] ?? "") === "string")
      if (property in given || property !== "description") given[property] = value;
  return { kind: "function", name: tool.name, arguments: given };
}
