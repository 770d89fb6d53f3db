import { useId, useState } from "react";
import { getChosenVersion, type ContextSnippet, type UserNode } from "@deltawire/tasks/chats";
import { useCell } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import { Menu } from "../ui/menu.tsx";
import { Collapsible } from "../ui/indicators.tsx";
import { useFormatter } from "../messages/format.ts";
import { useMessages } from "../messages/use-messages.ts";
import { MessageAttachments } from "./message-attachments.tsx";
import { copyToClipboard } from "./copy-to-clipboard.ts";
import { truncateLongText, type ThreadNodeProps } from "./thread-nodes.ts";
import { MessageEditor } from "./inline-editor.tsx";
import { NodeBadges, VersionSwitchers, Timestamp } from "./message-footer.tsx";
import { getNodeElementId, useThread } from "./thread.ts";
import { useNodeMenu } from "./use-node-menu.ts";
import { chatViewMessages, type ChatViewMessages } from "./messages.ts";

export function UserMessageView({
  node,
  nextNode,
  siblingIds,
  isOutdated,
  isHighlighted,
  isBookmarked,
}: ThreadNodeProps<UserNode>) {
  const app = useAppStore();
  const thread = useThread();
  const t = useMessages(chatViewMessages);
  const headingId = useId();
  const version = getChosenVersion(node);
  const isEditing = useCell(thread.editingNodeId) === node.node_id;
  const copy =
    version.text === "" ? undefined : () => void copyToClipboard(version.text, app.toasts, t);
  const edit = () => thread.edit(node.node_id);
  const items = useNodeMenu({ node, nextNode, isBookmarked, copy, edit });
  return (
    <article
      id={getNodeElementId(node.node_id)}
      className="chat-node chat-user"
      data-highlighted={isHighlighted || undefined}
      data-hidden={node.hidden || undefined}
      data-outdated={isOutdated || undefined}
      data-node={node.node_id}
      aria-labelledby={headingId}
      tabIndex={-1}
    >
      <h2 className="visually-hidden" id={headingId}>
        {t.you}
      </h2>
      <ContextSnippets contexts={version.contexts} />
      <MessageAttachments attachments={version.attachments} />
      {isEditing ? (
        <MessageEditor node={node} version={version} />
      ) : (
        version.text !== "" && <CollapsiblePlainText className="chat-bubble" text={version.text} />
      )}
      <div className="chat-message-footer">
        <NodeBadges node={node} isBookmarked={isBookmarked} isOutdated={isOutdated} />
        <VersionSwitchers node={node} siblingIds={siblingIds} />
        <Timestamp iso={version.created_at} />
        {!isEditing && (
          <span className="chat-actions">
            {copy !== undefined && <IconButton icon="copy" small label={t.copy} onClick={copy} />}
            <IconButton icon="edit" small label={t.edit} onClick={edit} />
          </span>
        )}
        {!isEditing && <Menu label={t.moreOfMessage} small items={items} />}
      </div>
    </article>
  );
}

const contextKinds: Readonly<
  Record<
    ContextSnippet["kind"],
    { readonly icon: IconName; readonly label: keyof ChatViewMessages }
  >
> = {
  file: { icon: "file", label: "contextFile" },
  selection: { icon: "quote", label: "contextSelection" },
  page: { icon: "link", label: "contextPage" },
  text: { icon: "group", label: "contextText" },
};

/** Text snippets sent along with the message, collapsed. */
function ContextSnippets({ contexts }: { contexts: readonly ContextSnippet[] }) {
  const t = useMessages(chatViewMessages);
  const format = useFormatter();
  return contexts.map(({ kind, title, text, url }, index) => (
    <Collapsible
      // Keyed by index: two snippets may be identical, and the list of a version never changes.
      key={index}
      className="chat-context"
      summary={
        <>
          <Icon name={contextKinds[kind].icon} small />
          <span className="chat-context-kind">{t[contextKinds[kind].label] as string}</span>
          <span className="chat-context-title single-line" dir="auto">
            {title}
          </span>
          <span className="chat-file-details">
            {t.characters(format.compactCount(text.length))}
          </span>
        </>
      }
    >
      <CollapsiblePlainText className="chat-context-text" text={text} />
      {url !== undefined && /^https?:/i.test(url) && (
        <a href={url} target="_blank" rel="noopener noreferrer">
          {url}
        </a>
      )}
    </Collapsible>
  ));
}

/** Plain text. Long text is collapsed to its beginning. */
export function CollapsiblePlainText({ text, className }: { text: string; className: string }) {
  const t = useMessages(chatViewMessages);
  const [isExpanded, setExpanded] = useState(false);
  const format = useFormatter();
  const excerpt = truncateLongText(text);
  const lines = text.trimEnd().split("\n").length;
  const showMore =
    lines === 1 ? t.showMoreOfLine(format.compactCount(text.length)) : t.showMore(lines);
  return (
    <div className={className} data-collapsed={(excerpt !== undefined && !isExpanded) || undefined}>
      <div className="plain-text chat-text" dir="auto">
        {isExpanded ? text : (excerpt ?? text)}
      </div>
      {excerpt !== undefined && (
        <Button
          kind="ghost"
          small
          icon={isExpanded ? "up" : "down"}
          aria-expanded={isExpanded}
          onClick={() => setExpanded(!isExpanded)}
        >
          {isExpanded ? t.showLess : showMore}
        </Button>
      )}
    </div>
  );
}
