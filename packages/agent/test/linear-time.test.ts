import { Vault, Redactor, redactError } from "@deltawire/agent";
import { cleanTitle } from "../src/chats/title-request.ts";
import {
  replacePlaceholders,
  findUnfinishedStart,
  findUnfinishedWordStart,
  trimPartialPlaceholder,
} from "../src/privacy/placeholder.ts";
import { StreamUnmasker } from "../src/privacy/stream-unmasker.ts";
import { splitIntoChunks, testLinearTime } from "../../../test/linear-time.ts";

/* Functions that process text from providers, models and tools. */

const secrets = ["key-of-up-0123456789", "%25%7B\\\"'<&>-\\\\\\\\\\", "aaaaaaaaaaaaaaaaaaab"];

const redactor = new Redactor(secrets);

const createVault = () =>
  new Vault({
    fields: ["email", "phone", "card", "key", "password", "id"].map((kind) => ({ kind })) as never,
    known: [{ placeholder: "{{EMAIL_1_x7f3}}", value: "a@example.com", kind: "email" }] as never,
    tag: "x7f3",
  });

testLinearTime({
  "Redactor.redact": (text) => redactor.redact(text),
  "Redactor.excerpt": (text) => redactor.excerpt(text, 500),
  "Redactor.redactData": (text) => redactor.redactData(text),
  RedactingStream: (text) => readRedacted(splitIntoChunks(text)),
  redactError: (text) => redactError({ message: text, [text]: text }, redactor),
  "Vault.mask": (text) => createVault().mask(text),
  "Vault.maskJson": (text) => createVault().maskJson(JSON.stringify({ a: text, [text]: 1 })),
  "Vault.unmask": (text) => createVault().unmask(text),
  "Vault.unmaskJson": (text) => createVault().unmaskJson(JSON.stringify({ a: text })),
  "Vault.isPrivate": (text) => createVault().isPrivate(text),
  "Vault.cutBefore": (text) => createVault().cutBefore(text, text.length >> 1),
  StreamUnmasker: (text) => readUnmasked(splitIntoChunks(text)),
  "placeholder functions": (text) => [
    replacePlaceholders(text, () => undefined, String),
    trimPartialPlaceholder(text),
    findUnfinishedStart(text),
    findUnfinishedWordStart(text, text.length, true),
  ],
  cleanTitle: (text) => cleanTitle(text),
});

function readRedacted(deltas: readonly string[]): void {
  const stream = redactor.createStream();
  for (const delta of deltas) stream.push(Buffer.from(delta));
  stream.end();
}

function readUnmasked(deltas: readonly string[]): void {
  const vault = createVault();
  for (const isJson of [false, true]) {
    const unmasker = new StreamUnmasker((text, before) => vault.unmask(text, before), { isJson });
    for (const delta of deltas) unmasker.push(delta);
    unmasker.end();
  }
}
