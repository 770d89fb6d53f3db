import { setTimeout as after } from "node:timers/promises";
import { defineTool } from "@deltawire/agent";
import { pictureFor } from "./media.ts";

/* What the demo agents can do. Nothing of it is real, and the descriptions say so. */

const text = { type: "string" };

export const getWeather = defineTool<{ city: string }>({
  name: "get_weather",
  description: "The weather in a city. Invented: this is a demonstration.",
  input: objectOf({ city: text }),
  effect: "pure",
  run: ({ city }) => {
    const said = JSON.stringify({ city, temperature: "15C", condition: "sunny" });
    const group = { type: "text", text: said, id: city, title: `The weather in ${city}` };
    return { message_content: [group], block_list: [group] };
  },
});

export const sendMessage = defineTool<{ to: string; text: string }>({
  name: "send_message",
  description: "Sends a message to somebody. Only pretended, but a person is asked before it.",
  input: objectOf({ to: text, text }),
  effect: "once",
  approval: "ask always",
  run: ({ to }) => `The message to ${to} would have been sent. This is a demonstration.`,
});

export const drawPicture = defineTool<{ subject: string }>({
  name: "draw_picture",
  description: "Draws a small picture. Only its colours come from the subject.",
  input: objectOf({ subject: text }),
  effect: "pure",
  run: ({ subject }) => {
    const group = { id: subject, title: `A picture of ${subject}` };
    const picture = { type: "image", bytes: pictureFor(subject), media_type: "image/png" };
    const words = `A small picture with colours for "${subject}". The user sees it.`;
    return {
      message_content: [{ type: "text", text: words, ...group }],
      block_list: [{ ...picture, ...group }],
    };
  },
});

export const openNote = defineTool<{ name: string }>({
  name: "open_private_note",
  description: "Opens a private note. Invented, but a person sees it before the model does.",
  input: objectOf({ name: text }),
  effect: "pure",
  approval: { result: "always" },
  run: ({ name }) =>
    `The note "${name}": the spare key is below the third flower pot. This is a demonstration.`,
});

const mostCounted = 30;
const countMs = 500;

export const slowCount = defineTool<{ to: number }>({
  name: "slow_count",
  description: "Counts slowly, twice a second, and tells how far it is.",
  input: objectOf({ to: { type: "integer", minimum: 1, maximum: mostCounted, default: 6 } }),
  effect: "pure",
  run: async ({ to }, context) => {
    for (let number = 1; number <= to; number += 1) {
      await after(countMs, undefined, { signal: context.signal });
      context.progress(`${number} of ${to}`, number / to);
    }
    return `Counted to ${to}.`;
  },
});

const wordMs = 40;
const pictureSteps = 4;
const pictureMs = 300;

export const writeReport = defineTool<{ subject: string }>({
  name: "write_report",
  description:
    "Writes a short report with a picture and a file, which are shown as they are made. Invented: this is a demonstration.",
  input: objectOf({ subject: text }),
  effect: "pure",
  run: async ({ subject }, { stream, signal }) => {
    const group = { id: subject, title: `A report about ${subject}` };
    const wait = (ms: number) => after(ms, undefined, { signal });
    for (const word of reportOf(subject).split(/(?<=\s)/)) {
      stream.text(word, group);
      await wait(wordMs);
    }
    const image = stream.image(group);
    for (let step = 1; step < pictureSteps; step += 1) {
      await wait(pictureMs);
      const bytes = pictureFor(subject, { share: step / pictureSteps });
      image.partial({ bytes, media_type: "image/png" });
    }
    await wait(pictureMs);
    image.done({ bytes: pictureFor(subject), media_type: "image/png" });
    const file = stream.file({ filename: "report.txt", media_type: "text/plain" });
    file.done({ bytes: Buffer.from(reportOf(subject)) });
    // The picture and the file are for people.
    return { message_content: [{ type: "text", text: `Reported on ${subject}.`, ...group }] };
  },
});

function reportOf(subject: string): string {
  return `A report about ${subject}

1. What was looked at: ${subject}, from all sides.
2. What was found: nothing of it is real, but all of it was written word by word.
3. What follows: a picture that is painted row by row, and this report as a file.
`;
}

export const failOnPurpose = defineTool<{ reason: string }>({
  name: "fail_on_purpose",
  description: "Always fails, to show what that looks like.",
  input: objectOf({ reason: text }),
  effect: "pure",
  run: ({ reason }) => {
    throw new Error(`failed as it was told to: ${reason}`);
  },
});

/** Arguments that are all needed. */
function objectOf(properties: Record<string, { type: string; [more: string]: string | number }>) {
  return {
    type: "object",
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  };
}
