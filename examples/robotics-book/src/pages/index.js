import {Redirect} from '@docusaurus/router';

// The book has no landing page of its own: the front door opens at the introduction.
export default function Home() {
  return <Redirect to="/docs/" />;
}
