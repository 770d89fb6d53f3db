import { lessonOf } from "../src/learning/lessons.ts";
import { wordsOf } from "../src/learning/refusal-words.ts";
import { genericProfile } from "@deltawire/wire";
import { testTextCosts } from "../../../test/text-costs.ts";

/* Functions that read text of providers, models and tools. */

const tried = {
  profile: genericProfile,
  responses: {},
  body: { model: "m", messages: [{ role: "user", content: "Hello" }], tools: [], seed: 1 },
};

testTextCosts({
  "lessonOf on Chat": (text) => lessons(text, "chat"),
  "lessonOf on Responses": (text) => lessons(text, "responses"),
  wordsOf: (text) => wordsOf({ error: { message: text, param: text, detail: [{ loc: [text] }] } }),
});

function lessons(text: string, speaks: "chat" | "responses"): void {
  for (const error of [{ message: text }, { param: "seed", type: text, message: text }])
    lessonOf({ status: 400, body: { error } }, { ...tried, speaks });
}
