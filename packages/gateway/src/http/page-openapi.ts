import {
  answer,
  bodyOf,
  ref,
  text,
  yesOrNo,
  type Operation,
  type Schema,
} from "./openapi-parts.ts";
import type { RouteName } from "./routes.ts";

const session: Schema = {
  type: "object",
  required: ["version", "token_required", "signed_in"],
  properties: {
    version: text,
    token_required: yesOrNo,
    signed_in: { ...yesOrNo, description: "True as well where no token is asked for." },
    client: { ...text, description: "Whose token it is." },
  },
  additionalProperties: false,
};

export const pageOperations: readonly [RouteName, Operation][] = [
  ["session", { answers: { "200": answer("How this browser stands.", session) } }],
  [
    "sign in",
    {
      body: bodyOf({
        type: "object",
        required: ["token"],
        properties: { token: { ...text, description: "One of the configuration." } },
        additionalProperties: false,
      }),
      answers: {
        "200": answer("The session; the cookie is in `set-cookie`.", session),
        "400": answer("No JSON, or not of this form.", ref("Error")),
        "401": answer("`missing_token`: the token is none of this gateway's.", ref("Error")),
        "413": answer("The body is too large.", ref("Error")),
        "429": answer("Too many wrong tokens from this address; see `retry-after`.", ref("Error")),
      },
    },
  ],
  ["sign out", { answers: { "200": answer("The cookie is cleared.", session) } }],
  ["home", { answers: { "200": content("The page.", "text/html") } }],
  [
    "page asset",
    {
      answers: {
        "200": content("The file.", "*/*"),
        "404": answer("The page has no such file.", ref("Error")),
      },
    },
  ],
];

function content(description: string, type: string): object {
  return { description, content: { [type]: { schema: text } } };
}
