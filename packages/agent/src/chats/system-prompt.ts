import { formatTimeInZone } from "../tool-groups/time.ts";

export interface SystemPromptParts {
  readonly now: Date;
  /** An IANA name. Default: the time zone of the system. */
  readonly timeZone?: string | undefined;
  /** The user's prompt for the chat. */
  readonly prompt?: string | undefined;
  /** How the model should treat placeholders, if private values are masked. */
  readonly privacyRule?: string | undefined;
}

/**
 * Builds the text before and after the instructions of the agent. The date changes only at midnight in the user's time zone: a
 * prompt that contained the time would never be in a server's cache.
 */
export function buildSystemPrompt({
  now,
  timeZone,
  prompt = "",
  privacyRule = "",
}: SystemPromptParts): {
  preamble: string;
  instructions: string;
} {
  const day = formatTimeInZone(timeZone, now.getTime()).replace(/T\d\S+/, "");
  const texts = [prompt.trim(), privacyRule];
  return {
    preamble: `Today is ${day}.`,
    instructions: texts.filter((text) => text !== "").join("\n\n"),
  };
}

/** Formats the note that gives a message its exact time. It is part of the message, so that the system prompt stays the same. */
export function formatMessageTime(createdAt: string, timeZone?: string): string {
  return `[sent on ${formatTimeInZone(timeZone, Date.parse(createdAt))}]`;
}
