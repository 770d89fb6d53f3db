/** How a tool's text reads best. */
export type ResultText =
  | { readonly is: "json"; readonly text: string }
  | { readonly is: "markdown"; readonly text: string }
  | { readonly is: "plain"; readonly text: string };

/** Beyond it nothing is parsed to be made pretty. */
const longestParsed = 200_000;

export function resultText(text: string): ResultText {
  if (text.length > longestParsed) return { is: "plain", text };
  if (/^\s*[[{]/.test(text)) {
    try {
      return { is: "json", text: JSON.stringify(JSON.parse(text), null, 2) };
    } catch {
      // It only begins like JSON.
    }
  }
  return { is: marks.some((mark) => mark.test(text)) ? "markdown" : "plain", text };
}

/** What nobody writes who does not mean Markdown. */
const marks = [
  /^#{1,6} \S/m,
  /^```/m,
  /^\|.*\|\s*\n\|[\s:|-]+\|/m,
  /\[[^\]\n]+\]\(https?:[^)\s]+\)/,
  /\*\*[^*\s][^*\n]*\*\*/,
];
