import { expect, test } from "vitest";
import { measureSlowdown, measureCpuTime } from "../../../../test/cpu-time.ts";
import { newVault } from "./private-texts.ts";

function maskToLabels(text: string): string {
  const kinds = ["email", "phone", "card", "key", "password", "id"] as const;
  const vault = newVault(kinds.map((kind) => ({ kind })));
  const masked = vault.mask(text);
  expect(vault.unmask(masked)).toBe(text);
  return masked.replaceAll(/\{\{([A-Z]+)_\d+_x7f3\}\}/g, "<$1>");
}

test.each([
  // E-mail
  ["to alice.b+x@example.co.uk.", "to <EMAIL>."],
  ["邮箱alice@x.com，好", "邮箱<EMAIL>，好"],
  ["?u=bob%40mail.com&z=1", "?u=<EMAIL>&z=1"],
  ["mail:\\nbob@mail.com", "mail:\\n<EMAIL>"],
  ["bob&#64;mail.com", "<EMAIL>"],
  ["user@localhost, a@b, @types/node", "user@localhost, a@b, @types/node"],
  // Phones
  ["13812345678 138-1234-5678 138 1234 5678", "<PHONE> <PHONE> <PHONE>"],
  ["+86 138 1234 5678, 0086-13812345678, +8613812345678", "<PHONE>, <PHONE>, <PHONE>"],
  ["电话１３８１２３４５６７８", "电话<PHONE>"],
  ["010-62345678 021-12345678", "<PHONE> <PHONE>"],
  ["(415) 555-0123, 415.555.0123, 1-415-555-0123", "<PHONE>, <PHONE>, <PHONE>"],
  ["+1 415 555 0123 100 people", "<PHONE> 100 people"],
  ["+44 20 7946 0958, +49 (0)30 901820", "<PHONE>, <PHONE>"],
  ["020 7946 0958", "<PHONE>"],
  ["1712345678901 2024-01-02 192.168.100.200 3.14159265358979", null],
  ["order 20240315123456, v1.2.3, 1,234,567,890", null],
  // Cards
  ["4111 1111 1111 1111 123", "<CARD> 123"],
  ["2024 4111-1111-1111-1111", "2024 <CARD>"],
  ["5500005555555559", "<CARD>"],
  // The first number with the first digits of the second one also has a valid check digit.
  ["5500005555555559 5500005555555559", "<CARD> <CARD>"],
  ["6139 8765 4321 4111 1111 1111 1111", "6139 8765 <CARD>"],
  ["4111 1111 1111 1112", null],
  // Keys
  ["sk-proj-abcdEFGH12345678abcd", "<KEY>"],
  ["ghp_0123456789abcdefghijABCDEFGHIJ012345", "<KEY>"],
  ["AKIAIOSFODNN7EXAMPLE xoxb-1234567890-abcdefghij", "<KEY> <KEY>"],
  ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N", "<KEY>"],
  ["-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nrest", "<KEY>\nrest"],
  ["-----BEGIN PRIVATE KEY-----\\nMIIE\\n-----END PRIVATE KEY-----\\n", "<KEY>\\n"],
  ["api_key = 'a1b2c3d4e5f6a7b8c9d0'", "api_key = '<KEY>'"],
  ['"token":"deadbeefdeadbeef0123"', '"token":"<KEY>"'],
  ["Authorization: Bearer abcdef0123456789abcdef", "Authorization: Bearer <KEY>"],
  ["key: your-api-key-goes-here, sk-learn-tutorial-one", null],
  // Passwords: the value only
  ["password: hunter2.", "password: <PASSWORD>."],
  ["pwd=abc123&x=1", "pwd=<PASSWORD>&x=1"],
  ["pw=tiger7 pw: tiger8, {'pw':'tiger9'}", "pw=<PASSWORD> pw: <PASSWORD>, {'pw':'<PASSWORD>'}"],
  ["the password is kept; no pw, spw=abcdef", null],
  ["密码：S3cret!", "密码：<PASSWORD>"],
  ["密码是 abc12345，谢谢", "密码是 <PASSWORD>，谢谢"],
  ["DB_PASSWORD=top_secret", "DB_PASSWORD=<PASSWORD>"],
  ['{"password": "correct horse"}', '{"password": "<PASSWORD>"}'],
  ["postgres://u:pw12@db.host/x", "postgres://u:<PASSWORD>@db.host/x"],
  ["the password is required; password: string; PASSWORD=$PASSWORD", null],
  ["password={{var:SECRET}}", null],
  // Personal identification numbers
  ["110101199003074477, 11010519491231002X", "<ID>, <ID>"],
  ["110101199003074478", null],
  ["078-05-1120 000-12-3456 666-12-3456", "<ID> 000-12-3456 666-12-3456"],
])("the values in %j are masked: %j", (text, masked) => {
  expect(maskToLabels(text)).toBe(masked ?? text);
});

test.each([
  "a",
  "1",
  "4 2-",
  "a@",
  "a.",
  "-----BEGIN RSA PRIVATE KEY-----",
  "eyJaaaaaaaaa.",
  "key=",
  "password: ",
  "://a:",
  "%41",
  "\\u0041",
  "{{",
  "+1 ",
  "0123 ",
])("500,000 characters that repeat %j are searched in linear time", { timeout: 60_000 }, (unit) => {
  const text = (length: number) => unit.repeat(Math.ceil(length / unit.length));
  const [eighth, complete] = [text(8000), text(64_000)];
  const slowdown = measureSlowdown(
    () => maskToLabels(eighth),
    () => maskToLabels(complete),
  );
  expect(slowdown).toBeLessThan(3);
  const longest = text(500_000);
  expect(measureCpuTime(() => maskToLabels(longest))).toBeLessThan(2000);
});
