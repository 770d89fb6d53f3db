import type { ContextSnippet } from "@deltawire/tasks/chats";
import { Icon, type IconName } from "../parts/icon.tsx";
import { Fold } from "../parts/signs.tsx";
import { useFormat } from "../words/format.ts";
import { useWords } from "../words/use-words.ts";
import { PlainText } from "./plain-text.tsx";
import { chatWords, type ChatWords } from "./words.ts";

const kinds: Readonly<
  Record<ContextSnippet["kind"], { readonly icon: IconName; readonly word: keyof ChatWords }>
> = {
  file: { icon: "file", word: "contextFile" },
  selection: { icon: "quote", word: "contextSelection" },
  page: { icon: "link", word: "contextPage" },
  text: { icon: "group", word: "contextText" },
};

/** What the user put beside the words, folded. */
export function Contexts({ contexts }: { contexts: readonly ContextSnippet[] }) {
  const words = useWords(chatWords);
  const format = useFormat();
  return contexts.map(({ kind, title, text, url }, at) => (
    <Fold
      // Two may be the same, and a version never changes.
      key={at}
      className="chat-context"
      summary={
        <>
          <Icon name={kinds[kind].icon} small />
          <span className="chat-context-kind">{words[kinds[kind].word] as string}</span>
          <span className="chat-context-title" dir="auto">
            {title}
          </span>
          <span className="chat-file-about">{words.letters(format.tokens(text.length))}</span>
        </>
      }
    >
      <PlainText className="chat-context-text" text={text} />
      {url !== undefined && /^https?:/i.test(url) && (
        <a href={url} target="_blank" rel="noopener noreferrer">
          {url}
        </a>
      )}
    </Fold>
  ));
}
