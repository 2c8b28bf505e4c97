import { defineConfig } from 'vitepress'
import { shared } from './shared'

const base = `/${'book'}/`

export default defineConfig({
  ...shared,
  base,
  srcDir: './docs',
  srcExclude: ['**/drafts/**', 'parts/*.md'],
  rewrites: {
    'packages/:pkg/src/(.*)': ':pkg/(.*)',
    'old.md': 'new/place.md',
  },
  locales: {
    root: { label: 'English', lang: 'en-US' },
    fr: { label: 'Français', lang: 'fr-FR' },
  },
  themeConfig: {
    nav: [{ text: 'Guide', link: '/guide/' }],
    sidebar: {
      '/guide/': [
        { text: 'Basics', items: [{ text: 'Introduction', link: '/guide/' }, { text: 'Hard headings', link: '/guide/headings' }] },
      ],
    },
  },
})
