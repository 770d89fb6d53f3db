import { isObject, parseJson } from "@deltawire/wire";
import type { ToolResult } from "./conversation.ts";
import type { OfferedTool, CallPlan, PlannedCall } from "./offered-tools.ts";
import { fillSchema } from "./fill-schema.ts";
import { PromptValues, splitWords } from "./prompt-values.ts";

/**
 * Plans a call to another agent for prompts such as "ask Researcher to …", "请 Researcher …", "ask for help" or "hand over
 * to the Spanish agent".
 */
export function planAgentCalls(prompt: string, tools: readonly OfferedTool[]): CallPlan {
  const agentRequest = parseAgentRequest(prompt);
  const agentTool =
    agentRequest === undefined ? undefined : findAgentTool(tools, agentRequest.agentName);
  if (agentRequest === undefined || agentTool === undefined) return { calls: [], text: "" };
  const label = agentRequest.agentName === "" ? "for help" : `**${agentRequest.agentName}**`;
  return { calls: [buildAgentCall(agentTool, agentRequest, prompt)], text: `Asking ${label}.` };
}

/** Plans the call that waits for an agent that Codex has just started. Codex has separate tools for the two steps. */
export function planWaitCalls(
  results: readonly ToolResult[],
  tools: readonly OfferedTool[],
): PlannedCall[] {
  const lastResult = results.at(-1);
  const waitTool = tools.find(
    ({ kind, name }) => kind === "function" && /(?:^|__)wait_agent$/.test(name),
  );
  if (
    waitTool === undefined ||
    lastResult === undefined ||
    !/(?:^|__)spawn_agent$/.test(lastResult.name)
  )
    return [];
  const spawnResult = parseJson(lastResult.text);
  const id = isObject(spawnResult) ? spawnResult["agent_id"] : undefined;
  if (typeof id !== "string") return [];
  return [{ kind: "function", name: waitTool.name, arguments: { targets: [id] } }];
}

interface AgentRequest {
  agentName: string;
  prompt: string;
}

function parseAgentRequest(prompt: string): AgentRequest | undefined {
  const match =
    /\bask\s+(?:for\s+help|(?:the\s+|an?\s+|your\s+)?([\w -]{2,40}?))\s*(?:\b(?:to|for|about|with|whether|on)\b|[,:])\s*([^]*)/i.exec(
      prompt,
    ) ?? /\bask\s+for\s+(help)()/i.exec(prompt);
  if (match !== null && !/^(?:me|you|yourself|myself|us|user)$/i.test(match[1] ?? "")) {
    const agentName = /^help$/i.test(match[1] ?? "") ? "" : (match[1] ?? "");
    return { agentName, prompt: match[2]?.trim() || prompt };
  }
  const chineseMatch =
    /(?:请|让|问问?)\s*([a-z][a-z\d-]{1,39})(?:\s*[，：]|\s+(?=\p{Script=Han}))\s*([^]+)/iu.exec(
      prompt,
    );
  if (chineseMatch !== null)
    return { agentName: chineseMatch[1] ?? "", prompt: chineseMatch[2] ?? prompt };
  const handoffMatch =
    /\b(?:hand\s*(?:over|off)|transfer|delegate|switch)\b(?:\s+(?:me|this|it))?\s+to\s+(?:the\s+|an?\s+)?([\w -]{2,40})/i.exec(
      prompt,
    );
  return handoffMatch === null ? undefined : { agentName: (handoffMatch[1] ?? "").trim(), prompt };
}

/** Returns the tool of this agent, else one that can call any agent. */
function findAgentTool(tools: readonly OfferedTool[], name: string): OfferedTool | undefined {
  const requestedWords = splitWords(name.toLowerCase()).filter(
    (word) => !/^(?:agent|model|expert)$/.test(word),
  );
  const handoffTools = tools.filter((tool) =>
    /^(?:transfer_to_|handoff_|hand_over_|ask_)/.test(tool.name),
  );
  const exactTool = handoffTools.find((tool) => {
    const nameWords = splitWords(tool.name.toLowerCase());
    return requestedWords.length > 0 && requestedWords.every((word) => nameWords.includes(word));
  });
  const genericAgentTool = /^(?:.*__)?(?:ask_for_help|spawn_agent|delegate|task|run_agent)$/;
  return (
    exactTool ??
    tools.find((tool) => genericAgentTool.test(tool.name)) ??
    (name === "" ? handoffTools[0] : undefined)
  );
}

function buildAgentCall(
  tool: OfferedTool,
  { agentName, prompt }: AgentRequest,
  fullPrompt: string,
): PlannedCall {
  if (tool.kind === "custom") return { kind: "custom", name: tool.name, input: prompt };
  const schemaValue = fillSchema({ type: "object", ...tool.parameters }, new PromptValues(prompt));
  const values: Record<string, string> = {
    name: agentName === "" ? "Helper" : agentName,
    description: `Helps with: ${prompt.slice(0, 100)}`,
    prompt,
    message: prompt,
    task: prompt,
    input: fullPrompt,
  };
  const properties = isObject(tool.parameters["properties"]) ? tool.parameters["properties"] : {};
  const args = isObject(schemaValue) ? schemaValue : {};
  for (const [property, value] of Object.entries(values))
    if (property in properties && typeof (args[property] ?? "") === "string")
      if (property in args || property !== "description") args[property] = value;
  return { kind: "function", name: tool.name, arguments: args };
}
