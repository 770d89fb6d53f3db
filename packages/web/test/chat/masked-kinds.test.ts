import { expect, test } from "vitest";
import { maskedKinds } from "../../src/chat/composer-bar.tsx";

const fields = [
  { kind: "email" },
  { kind: "name", value: "Ann" },
  { kind: "name", value: "Bo" },
] as const;

test("what is masked is what the chat says, else what the gateway has configured", () => {
  expect(maskedKinds({ privacy: { enabled: true, fields } }, {})).toEqual(["email", "name"]);
  const usual = { privacy: { enabled: true, fields: [{ kind: "key" }] } } as const;
  expect(maskedKinds({}, usual)).toEqual(["key"]);
  expect(maskedKinds({ privacy: { enabled: false, fields } }, usual)).toEqual([]);
  expect(maskedKinds({}, {})).toEqual([]);
});
