import { useId, type ReactNode } from "react";
import { Icon } from "../parts/icon.tsx";

interface DisclosureProps {
  className: string;
  open: boolean;
  onToggle: (open: boolean) => void;
  /** False: there is nothing to unfold. */
  hasBody?: boolean | undefined;
  head: ReactNode;
  /** Buttons beside the head. */
  beside?: ReactNode;
  /** What is to be seen also while it is folded. */
  always?: ReactNode;
  /** By which a reference finds it. */
  callId?: string | undefined;
  state?: string | undefined;
  children: ReactNode;
}

/** A line that unfolds. Its content is there only while it is open: what nobody reads costs nothing. */
export function Disclosure(props: DisclosureProps) {
  const { className, open, onToggle, hasBody = true, head, beside, always, children } = props;
  const bodyId = useId();
  const isOpen = open && hasBody;
  return (
    <div
      className={`answer-fold ${className}`}
      data-open={isOpen || undefined}
      data-state={props.state}
      data-call={props.callId}
      tabIndex={props.callId === undefined ? undefined : -1}
    >
      <div className="answer-fold-line">
        {hasBody ? (
          <button
            type="button"
            className="answer-fold-head"
            aria-expanded={isOpen}
            aria-controls={isOpen ? bodyId : undefined}
            onClick={() => onToggle(!isOpen)}
          >
            <Icon name="go" small />
            {head}
          </button>
        ) : (
          <div className="answer-fold-head">{head}</div>
        )}
        {beside}
      </div>
      {always}
      {isOpen && (
        <div id={bodyId} className="answer-fold-body">
          {children}
        </div>
      )}
    </div>
  );
}
