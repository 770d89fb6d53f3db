import { deriveLesson } from "../src/learning/derive-lesson.ts";
import { parseRejection } from "../src/learning/parse-rejection.ts";
import { genericProfile } from "@deltawire/wire";
import { testLinearTime } from "../../../test/linear-time.ts";

/* Functions that parse text of providers, models and tools. */

const attempt = {
  profile: genericProfile,
  responses: {},
  body: { model: "m", messages: [{ role: "user", content: "Hello" }], tools: [], seed: 1 },
};

testLinearTime({
  "deriveLesson for Chat": (text) => deriveLessons(text, "chat"),
  "deriveLesson for Responses": (text) => deriveLessons(text, "responses"),
  parseRejection: (text) =>
    parseRejection({ error: { message: text, param: text, detail: [{ loc: [text] }] } }),
});

function deriveLessons(text: string, speaks: "chat" | "responses"): void {
  for (const error of [{ message: text }, { param: "seed", type: text, message: text }])
    deriveLesson({ status: 400, body: { error } }, { ...attempt, speaks });
}
