import type { ApiName } from "../config/config.ts";
import type { LessonRule } from "./lesson.ts";
import { markRequestSpecific } from "./request-specific-errors.ts";

/*
 * Errors that mean that a model needs another API of the same server. They are learned for one model, so that its reasoning
 * and its tools both work. The comments name the servers and issues that the patterns come from.
 */

/** A path that the server does not have. Errors about the model do not reach the rules. */
const missingEndpointStatuses = [404, 405];

const apiLabels: Readonly<Record<ApiName, string>> = {
  chat: "Chat",
  responses: "Responses",
  messages: "Messages",
};

const apiCodes = {
  chat: "chat_api",
  responses: "responses_api",
  messages: "messages_api",
} as const;

/** With `speaks = "auto"` the APIs are tried in this order. */
function createMissingApiRule(missing: ApiName, next: ApiName): LessonRule {
  return {
    code: apiCodes[next],
    statuses: missingEndpointStatuses,
    description: `does not have the ${apiLabels[missing]} API; ${apiLabels[next]} is used instead`,
    createChange: ({ detectsApi = false, triedApis = [missing], apiSwitch }) =>
      detectsApi && !triedApis.includes(next)
        ? { speaks: next, ...markRequestSpecific(apiSwitch === "earlier") }
        : undefined,
  };
}

export const chatApiRejections: readonly LessonRule[] = [
  // OpenAI from GPT-5.4 on, for function tools (openai-openapi 541, litellm 34569); o1-pro and Codex models; Copilot
  {
    code: "responses_api",
    patterns: [
      /(?<![\w/])\/?v1\/responses\b/i,
      /\buse the responses api\b/i,
      /unsupported_api_for_model/i,
      /not accessible via the \/chat\/completions/i,
    ],
    description: "needs the Responses API for this model; it is used instead of Chat",
    createChange: ({ canSwitchApi = false }) =>
      canSwitchApi ? { speaks: "responses" } : undefined,
  },
  createMissingApiRule("chat", "responses"),
  createMissingApiRule("chat", "messages"),
];

export const responsesApiRejections: readonly LessonRule[] = [
  createMissingApiRule("responses", "chat"),
  createMissingApiRule("responses", "messages"),
  {
    code: "chat_api",
    statuses: missingEndpointStatuses,
    description: "does not have the Responses API; Chat is used instead",
    createChange: ({ apiSwitch, triedApis = [] }) => {
      if (apiSwitch === undefined || triedApis.includes("messages")) return undefined;
      // A lesson that was confirmed once may only be wrong for a while, such as during an outage.
      return { speaks: "chat", ...markRequestSpecific(apiSwitch === "earlier") };
    },
  },
];

export const messagesApiRejections: readonly LessonRule[] = [
  createMissingApiRule("messages", "chat"),
  createMissingApiRule("messages", "responses"),
];
