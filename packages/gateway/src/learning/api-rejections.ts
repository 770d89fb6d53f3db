import type { LessonRule } from "./lesson.ts";
import { markRequestSpecific } from "./request-specific-errors.ts";

/*
 * Errors that mean that a model needs the other API of the same server. They are learned for one model, so that its reasoning
 * and its tools both work. The comments name the servers and issues that the patterns come from.
 */

/** A path that the server does not have. Errors about the model do not reach the rules. */
const missingEndpointStatuses = [404, 405];

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
  {
    code: "responses_api",
    statuses: missingEndpointStatuses,
    description: "does not have the Chat API; Responses is used instead",
    createChange: ({ canSwitchApi = false, detectsApi = false }) =>
      canSwitchApi && detectsApi ? { speaks: "responses" } : undefined,
  },
];

export const responsesApiRejections: readonly LessonRule[] = [
  {
    code: "chat_api",
    statuses: missingEndpointStatuses,
    description: "does not have the Responses API; Chat is used instead",
    createChange: ({ apiSwitch }) => {
      if (apiSwitch === undefined) return undefined;
      // A lesson that was confirmed once may only be wrong for a while, such as during an outage.
      return { speaks: "chat", ...markRequestSpecific(apiSwitch === "earlier") };
    },
  },
];
