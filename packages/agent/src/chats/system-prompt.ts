import { timeIn } from "../groups/time.ts";

export interface PromptParts {
  readonly now: Date;
  /** An IANA name; the system's zone unless it says otherwise. */
  readonly timeZone?: string | undefined;
  /** The user's prompt for the chat. */
  readonly prompt?: string | undefined;
  /** How the model has to treat placeholders, where privacy is on. */
  readonly privacyRule?: string | undefined;
}

/**
 * What a model is told before and behind the instructions of its agent. It stays the same from one midnight of the user to
 * the next, byte for byte: a prompt that tells the time is in no server's cache.
 */
export function systemPrompt({ now, timeZone, prompt = "", privacyRule = "" }: PromptParts): {
  preamble: string;
  instructions: string;
} {
  const day = timeIn(timeZone, now.getTime()).replace(/T\d\S+/, "");
  const texts = [prompt.trim(), privacyRule];
  return {
    preamble: `Today is ${day}.`,
    instructions: texts.filter((text) => text !== "").join("\n\n"),
  };
}

/** For a message whose exact time counts: told with it, so that the prompt before it stays the same. */
export function timeOfMessage(createdAt: string, timeZone?: string): string {
  return `[sent on ${timeIn(timeZone, Date.parse(createdAt))}]`;
}

/** Whether there is such a time zone. Offsets such as +01:00 are none: they know no summer time. */
export function checkTimeZone(name: string): boolean {
  if (!/^[a-z]/i.test(name)) return false;
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}
