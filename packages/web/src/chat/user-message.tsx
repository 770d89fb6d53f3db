import { useId, useState } from "react";
import { chosenVersion, type ContextSnippet, type UserNode } from "@deltawire/tasks/chats";
import { useCell } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { Icon, type IconName } from "../parts/icon.tsx";
import { Menu } from "../parts/menu.tsx";
import { Fold } from "../parts/signs.tsx";
import { useFormat } from "../words/format.ts";
import { useWords } from "../words/use-words.ts";
import { Attachments } from "./attachments.tsx";
import { copyText } from "./copy-text.ts";
import { foldedText, type NodeProps } from "./groups.ts";
import { MessageEditor } from "./in-place-editor.tsx";
import { Marks, Switchers, When } from "./message-footer.tsx";
import { elementId, useThread } from "./thread.ts";
import { useNodeMenu } from "./use-node-menu.ts";
import { chatWords, type ChatWords } from "./words.ts";

export function UserMessage({
  node,
  below,
  branches,
  isOutdated,
  isMarked,
  isBookmarked,
}: NodeProps<UserNode>) {
  const page = usePage();
  const thread = useThread();
  const words = useWords(chatWords);
  const headingId = useId();
  const version = chosenVersion(node);
  const isEditing = useCell(thread.editing) === node.node_id;
  const copy =
    version.text === "" ? undefined : () => void copyText(version.text, page.toasts, words);
  const edit = () => thread.edit(node.node_id);
  const items = useNodeMenu({ node, below, isBookmarked, copy, edit });
  return (
    <article
      id={elementId(node.node_id)}
      className="chat-node chat-user"
      data-marked={isMarked || undefined}
      data-hidden={node.hidden || undefined}
      data-outdated={isOutdated || undefined}
      data-node={node.node_id}
      aria-labelledby={headingId}
      tabIndex={-1}
    >
      <h2 className="for-readers" id={headingId}>
        {words.you}
      </h2>
      <Contexts contexts={version.contexts} />
      <Attachments attachments={version.attachments} />
      {isEditing ? (
        <MessageEditor node={node} version={version} />
      ) : (
        version.text !== "" && <PlainText className="chat-bubble" text={version.text} />
      )}
      <div className="chat-foot">
        <Marks node={node} isBookmarked={isBookmarked} isOutdated={isOutdated} />
        <Switchers node={node} branches={branches} />
        <When iso={version.created_at} />
        {!isEditing && (
          <span className="chat-actions">
            {copy !== undefined && (
              <IconButton icon="copy" small label={words.copy} onClick={copy} />
            )}
            <IconButton icon="edit" small label={words.edit} onClick={edit} />
          </span>
        )}
        {!isEditing && <Menu label={words.moreOfMessage} small items={items} />}
      </div>
    </article>
  );
}

const kinds: Readonly<
  Record<ContextSnippet["kind"], { readonly icon: IconName; readonly word: keyof ChatWords }>
> = {
  file: { icon: "file", word: "contextFile" },
  selection: { icon: "quote", word: "contextSelection" },
  page: { icon: "link", word: "contextPage" },
  text: { icon: "group", word: "contextText" },
};

/** What the user put beside the words, folded. */
function Contexts({ contexts }: { contexts: readonly ContextSnippet[] }) {
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
          <span className="chat-context-title one-line" dir="auto">
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

/** As it was written; of a long text the beginning, until somebody wants more. */
export function PlainText({ text, className }: { text: string; className: string }) {
  const words = useWords(chatWords);
  const [isWhole, setWhole] = useState(false);
  const format = useFormat();
  const beginning = foldedText(text);
  const lines = text.trimEnd().split("\n").length;
  const more =
    lines === 1 ? words.showMoreOfLine(format.tokens(text.length)) : words.showMore(lines);
  return (
    <div className={className} data-folded={(beginning !== undefined && !isWhole) || undefined}>
      <div className="plain-text chat-text" dir="auto">
        {isWhole ? text : (beginning ?? text)}
      </div>
      {beginning !== undefined && (
        <Button
          kind="ghost"
          small
          icon={isWhole ? "up" : "down"}
          aria-expanded={isWhole}
          onClick={() => setWhole(!isWhole)}
        >
          {isWhole ? words.showLess : more}
        </Button>
      )}
    </div>
  );
}
